// Package host is what the providers that run programs share: names inside a
// workspace, environments, and groups of processes that end as one.
package host
