// Command mkimage writes a container image as a tar file, from nothing and without a daemon. The same input gives the
// same bytes. The file is an OCI layout that also carries the manifest that docker load reads.
//
//	mkimage -o image.tar -name example/app:1 -entrypoint /app -dir /var/lib/app /app=bin/app
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// run is main without the process.
func run(args []string, stderr io.Writer) error {
	var options Options
	var out string
	var dirs list
	flags := flag.NewFlagSet("mkimage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&out, "o", "", "`file` to write")
	flags.StringVar(&options.Name, "name", "", "image `reference`, with a tag")
	flags.StringVar(&options.Entrypoint, "entrypoint", "", "`path` of the program in the image")
	flags.StringVar(&options.Architecture, "arch", "amd64", "`architecture` of the program")
	flags.IntVar(&options.User, "user", 65532, "numeric user and group")
	flags.Var(&dirs, "dir", "`path` of a folder that belongs to the user; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options.Dirs = dirs
	for _, arg := range flags.Args() {
		target, source, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not PATH=FILE", arg)
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return fmt.Errorf("read file for image: %w", err)
		}
		options.Files = append(options.Files, File{Path: target, Data: data})
	}
	if out == "" {
		return errors.New("-o is missing")
	}
	image, err := Build(options)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, image, 0o644); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}
