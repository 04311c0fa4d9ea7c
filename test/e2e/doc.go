// Package e2e runs whole processes: one process and split ones, under kill -9
// at every append, and with many clients at once.
package e2e
