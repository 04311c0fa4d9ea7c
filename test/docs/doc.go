// Package docs tests that the documentation is true where a program can tell: links lead somewhere, commands exist, and
// nothing promises what the runtime does not keep.
package docs
