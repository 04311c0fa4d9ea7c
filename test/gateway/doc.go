// Package gateway tests the HTTP API and the pages of a whole process with an
// embedded server.
package gateway
