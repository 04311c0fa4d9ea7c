package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// functions are the functions of Tilt that a Tiltfile of this repository may call, with the names of their arguments in
// order.
var functions = map[string][]string{
	"allow_k8s_contexts": {"contexts"},
	"custom_build":       {"ref", "command", "deps", "tag", "disable_push", "skips_local_docker", "live_update"},
	"k8s_resource":       {"workload", "new_name", "port_forwards", "resource_deps", "labels", "trigger_mode", "auto_init"},
	"local_resource":     {"name", "cmd", "deps", "trigger_mode", "resource_deps", "labels", "auto_init", "allow_parallel"},
}

// A Renderer turns a folder of manifests into one document.
type Renderer func(dir string) ([]byte, error)

// call is one recorded call.
type call struct {
	function string
	args     map[string]starlark.Value
}

// text returns an argument that is a string.
func (c call) text(name string) string {
	s, _ := starlark.AsString(c.args[name])
	return s
}

// texts returns an argument that is a string or a list of strings.
func (c call) texts(name string) []string {
	sequence, ok := c.args[name].(starlark.Iterable)
	if !ok {
		if s := c.text(name); s != "" {
			return []string{s}
		}
		return nil
	}
	var out []string
	for value := range starlark.Elements(sequence) {
		s, _ := starlark.AsString(value)
		out = append(out, s)
	}
	return out
}

// checker collects what a Tiltfile says.
type checker struct {
	dir       string
	render    Renderer
	calls     []call
	workloads map[string]workload
}

// Check runs the Tiltfile and returns a summary, or everything that does not fit.
func Check(file string, render Renderer) (string, error) {
	c := &checker{dir: filepath.Dir(file), render: render, workloads: map[string]workload{}}
	options := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	thread := &starlark.Thread{Name: "tiltfile"}
	thread.SetMaxExecutionSteps(1_000_000)
	if _, err := starlark.ExecFileOptions(options, thread, file, nil, c.environment()); err != nil {
		if located := (*starlark.EvalError)(nil); errors.As(err, &located) {
			return "", fmt.Errorf("%w\n%s", err, located.Backtrace())
		}
		return "", err
	}
	if err := errors.Join(c.problems()...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %d calls, %d workloads, all of it fits", file, len(c.calls), len(c.workloads)), nil
}

// environment returns the names that the Tiltfile sees.
func (c *checker) environment() starlark.StringDict {
	env := starlark.StringDict{
		"TRIGGER_MODE_AUTO":   starlark.MakeInt(0),
		"TRIGGER_MODE_MANUAL": starlark.MakeInt(1),
		"kustomize":           starlark.NewBuiltin("kustomize", c.kustomize),
		"k8s_yaml":            starlark.NewBuiltin("k8s_yaml", c.yaml),
		"os": starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"getenv": starlark.NewBuiltin("getenv", getenv),
		}),
	}
	for name := range functions {
		env[name] = starlark.NewBuiltin(name, c.record)
	}
	return env
}

// record notes a call of one of the functions.
func (c *checker) record(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	names := functions[f.Name()]
	if len(args) > len(names) {
		return nil, fmt.Errorf("%s: too many arguments", f.Name())
	}
	noted := call{function: f.Name(), args: map[string]starlark.Value{}}
	for i, arg := range args {
		noted.args[names[i]] = arg
	}
	for _, pair := range named {
		name, _ := starlark.AsString(pair[0])
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s: unknown argument %q", f.Name(), name)
		}
		if _, twice := noted.args[name]; twice {
			return nil, fmt.Errorf("%s: argument %q is there twice", f.Name(), name)
		}
		noted.args[name] = pair[1]
	}
	if len(names) > 0 && noted.args[names[0]] == nil {
		return nil, fmt.Errorf("%s: argument %q is missing", f.Name(), names[0])
	}
	c.calls = append(c.calls, noted)
	return starlark.None, nil
}

// kustomize renders a folder.
func (c *checker) kustomize(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var dir string
	if err := starlark.UnpackArgs(f.Name(), args, named, "pathToDir", &dir); err != nil {
		return nil, err
	}
	out, err := c.render(filepath.Join(c.dir, dir))
	if err != nil {
		return nil, err
	}
	return starlark.Bytes(out), nil
}

// yaml takes in rendered manifests.
func (c *checker) yaml(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var manifests starlark.Bytes
	if err := starlark.UnpackArgs(f.Name(), args, named, "yaml", &manifests); err != nil {
		return nil, err
	}
	found, err := findWorkloads([]byte(manifests))
	if err != nil {
		return nil, err
	}
	for _, w := range found {
		c.workloads[w.Metadata.Name] = w
	}
	return starlark.None, nil
}

// getenv answers with the default, so that the result does not depend on who runs the check.
func getenv(_ *starlark.Thread, f *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var name string
	var fallback starlark.Value = starlark.None
	if err := starlark.UnpackArgs(f.Name(), args, named, "key", &name, "default?", &fallback); err != nil {
		return nil, err
	}
	return fallback, nil
}

// problems compares what was called with what was rendered.
func (c *checker) problems() []error {
	var wrong []error
	built, local, used := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, w := range c.workloads {
		for _, container := range w.Spec.Template.Spec.Containers {
			used[repository(container.Image)] = true
		}
	}
	contexts := false
	for _, noted := range c.calls {
		switch noted.function {
		case "allow_k8s_contexts":
			contexts = len(noted.texts("contexts")) > 0
		case "custom_build":
			built[noted.text("ref")] = true
			if !used[noted.text("ref")] {
				wrong = append(wrong, fmt.Errorf("custom_build(%q): no workload uses the image", noted.text("ref")))
			}
		case "local_resource":
			local[noted.text("name")] = true
		}
		wrong = append(wrong, c.missingPaths(noted)...)
	}
	if !contexts {
		wrong = append(wrong, errors.New("allow_k8s_contexts is missing: any cluster could be changed"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.workloads)) {
		for _, container := range c.workloads[name].Spec.Template.Spec.Containers {
			if !built[repository(container.Image)] {
				wrong = append(wrong, fmt.Errorf("%s: nothing builds image %s", name, container.Image))
			}
		}
	}
	return append(wrong, c.unknownResources(local)...)
}

// missingPaths reports dependencies of a call that do not exist.
func (c *checker) missingPaths(noted call) []error {
	var wrong []error
	for _, dep := range noted.texts("deps") {
		if _, err := os.Stat(filepath.Join(c.dir, dep)); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: deps: %w", noted.function, err))
		}
	}
	return wrong
}

// unknownResources reports resources that name nothing.
func (c *checker) unknownResources(local map[string]bool) []error {
	var wrong []error
	for _, noted := range c.calls {
		if noted.function == "k8s_resource" {
			if _, ok := c.workloads[noted.text("workload")]; !ok {
				wrong = append(wrong, fmt.Errorf("k8s_resource(%q): no such workload", noted.text("workload")))
			}
		}
		for _, dep := range noted.texts("resource_deps") {
			if _, ok := c.workloads[dep]; !ok && !local[dep] {
				wrong = append(wrong, fmt.Errorf("%s: resource_deps: no resource %q", noted.function, dep))
			}
		}
		for _, forward := range noted.texts("port_forwards") {
			_, port, _ := strings.Cut(forward, ":")
			if w, ok := c.workloads[noted.text("workload")]; ok && !w.hasPort(port) {
				wrong = append(wrong, fmt.Errorf("k8s_resource(%q): no container port %s", noted.text("workload"), port))
			}
		}
	}
	return wrong
}
