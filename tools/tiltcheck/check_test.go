package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = `kind: Deployment
metadata: {name: app}
spec: {template: {spec: {containers: [{image: "local/app:1", ports: [{containerPort: 80}]}]}}}
---
kind: Service
metadata: {name: app}
---
kind: Job
metadata: {name: setup}
spec: {template: {spec: {containers: [{image: "local/app:1"}]}}}
`

const good = `allow_k8s_contexts(['local'])
k8s_yaml(kustomize('k8s'))
custom_build('local/app', 'make', deps=['src'])
for name in ['setup']:
    k8s_resource(name)
k8s_resource('app', resource_deps=['setup', 'tests'], port_forwards='8080:80')
local_resource('tests', 'make test', deps='src', trigger_mode=TRIGGER_MODE_MANUAL)
suffix = os.getenv('X', 'y') + 'z'
`

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		want     string // part of the error; empty if the file is good
	}{
		"good":                  {},
		"unknown_function":      {"custom_build(", "docker_build(", "docker_build"},
		"unknown_argument":      {"deps=['src']", "dep=['src']", `unknown argument "dep"`},
		"missing_argument":      {"k8s_resource(name)", "k8s_resource(labels=['x'])", `"workload" is missing`},
		"argument_twice":        {"k8s_resource(name)", "k8s_resource(name, workload=name)", "twice"},
		"too_many_arguments":    {"['local']", "['local'], 1", "too many"},
		"missing_path":          {"deps=['src']", "deps=['source']", "source"},
		"missing_manifests":     {"'k8s'", "'other'", "no folder other"},
		"unknown_workload":      {"k8s_resource('app'", "k8s_resource('application'", "no such workload"},
		"unknown_dependency":    {"'setup', 'tests'", "'setup', 'lint'", `no resource "lint"`},
		"unknown_port":          {"8080:80'", "8080:81'", "no container port 81"},
		"image_nobody_builds":   {"custom_build('local/app'", "custom_build('local/other'", "nothing builds image local/app:1"},
		"image_nobody_uses":     {"custom_build('local/app'", "custom_build('local/other'", "no workload uses the image"},
		"any_cluster":           {"allow_k8s_contexts(['local'])", "", "allow_k8s_contexts is missing"},
		"an_error_in_the_file":  {"['setup']", "['setup'", "want ']'"},
		"a_loop_without_an_end": {"['setup']", "range(1000000000)", "too many steps"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "src"), 0o700); err != nil {
				t.Fatal(err)
			}
			text := good
			if tt.old != "" {
				text = strings.Replace(good, tt.old, tt.new, 1)
				if text == good {
					t.Fatalf("%q is not in the file", tt.old)
				}
			}
			if name == "a_loop_without_an_end" {
				text = strings.Replace(text, "k8s_resource(name)", "k8s_resource('setup')", 1)
			}
			file := filepath.Join(dir, "Tiltfile")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Check(file, func(folder string) ([]byte, error) {
				if filepath.Base(folder) != "k8s" {
					return nil, errors.New("no folder " + filepath.Base(folder))
				}
				return []byte(manifests), nil
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Check = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRunRefusesWrongUsage(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), nil, streams{&out, &errs}); code != 2 || !strings.Contains(errs.String(), "usage") {
		t.Errorf("exit %d, stderr %q", code, errs.String())
	}
}
