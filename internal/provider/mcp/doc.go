// Package mcp is the provider of capabilities that are tools of Model Context
// Protocol servers, reached over standard input and output.
//
// A server is started when it is first needed and shared by all capabilities
// that define it in the same way; after it dies it is started again, each time
// later. What a server says of itself and of its tools, annotations included,
// is data: effects and permissions come from the capability alone.
package mcp
