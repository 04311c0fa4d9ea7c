package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	claim := func(id string) string {
		return `{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:1: req: covers ` + id + `\n"}` + "\n" +
			`{"Action":"pass","Package":"p","Test":"T"}` + "\n"
	}
	file := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(file, []byte(claim("C3-RUN-001.a")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args     []string
		in       string
		code     int
		out, err string
	}{
		"standard_input":      {in: claim("IK-1.1"), out: "1 of 958"},
		"a_file":              {args: []string{file}, out: "- C3-RUN-001.a: p.T"},
		"an_unknown_claim":    {in: claim("IK-99.1"), code: 1, out: "Claimed but not listed: IK-99.1", err: "IK-99.1"},
		"a_missing_file":      {args: []string{file + "x"}, code: 1, err: "out.jsonx"},
		"a_missing_list":      {args: []string{"-requirements", file + "x"}, code: 1, err: "load requirements"},
		"damaged_test_output": {in: "{", code: 1, err: "line 1"},
		"wrong_usage":         {args: []string{"-nonsense"}, code: 2, err: "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(tt.args, streams{in: strings.NewReader(tt.in), out: &out, err: &errs})
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, out.String(), errs.String())
			}
		})
	}
}
