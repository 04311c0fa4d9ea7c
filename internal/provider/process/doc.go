// Package process is the provider of capabilities that are programs.
//
// A program is started directly, never through a shell: each element of the
// argument vector is one argument, whatever the values in it contain. It runs
// inside the workspace with a listed environment, in a process group that is
// ended as a whole, and what it prints is bounded. Its exit code says what is
// known about the effect.
package process
