// Package commandline tests the binary as people use it.
package commandline
