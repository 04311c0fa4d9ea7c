// Mandate is the binary: it starts processes and is their command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"example.org/mandate/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	info, err := os.Stdout.Stat()
	return cli.Run(ctx, cli.Options{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environment: os.LookupEnv,
		Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
	})
}
