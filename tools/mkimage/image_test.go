package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample is an image like ours.
func sample() Options {
	return Options{
		Name: "mandate.local/mandate:1", Entrypoint: "/mandate", Architecture: "amd64", User: 65532,
		Dirs:  []string{"/var/lib/mandate"},
		Files: []File{{Path: "/mandate", Data: []byte("program")}, {Path: "/etc/config", Data: []byte("x")}},
	}
}

// unpack reads a tar file into headers and contents by name.
func unpack(t *testing.T, data []byte) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, contents := map[string]*tar.Header{}, map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name], contents[header.Name] = header, content
	}
}

// decode reads a JSON file of the image.
func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// blob returns the blob that a descriptor names, after checking its digest and size.
func blob(t *testing.T, contents map[string][]byte, d descriptor) []byte {
	t.Helper()
	data, ok := contents["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !ok || digest(data) != d.Digest || len(data) != d.Size {
		t.Fatalf("blob %s: present %v, digest %s, %d bytes, want %d", d.Digest, ok, digest(data), len(data), d.Size)
	}
	return data
}

func TestBuildGivesTheSameBytesAgain(t *testing.T) {
	first, err := Build(sample())
	if err != nil {
		t.Fatal(err)
	}
	again := sample()
	again.Files[0], again.Files[1] = again.Files[1], again.Files[0]
	second, err := Build(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the order of the files changed the image")
	}
}

func TestBuildIsAnImage(t *testing.T) {
	image, err := Build(sample())
	if err != nil {
		t.Fatal(err)
	}
	_, contents := unpack(t, image)
	entry := decode[index](t, contents["index.json"]).Manifests[0]
	if got := entry.Annotations["io.containerd.image.name"]; got != "mandate.local/mandate:1" {
		t.Errorf("name %q", got)
	}
	m := decode[manifest](t, blob(t, contents, entry))
	c := decode[config](t, blob(t, contents, m.Config))
	layer := blob(t, contents, m.Layers[0])
	if c.RootFS.DiffIDs[0] != digest(layer) || c.OS != "linux" || c.Architecture != "amd64" {
		t.Errorf("configuration %+v does not describe the layer", c)
	}
	if c.Config.User != "65532:65532" || len(c.Config.Entrypoint) != 1 || c.Config.Entrypoint[0] != "/mandate" {
		t.Errorf("starts as %+v", c.Config)
	}
	docker := decode[[]dockerManifest](t, contents["manifest.json"])[0]
	if contents[docker.Config] == nil || contents[docker.Layers[0]] == nil || docker.RepoTags[0] != "mandate.local/mandate:1" {
		t.Errorf("docker manifest %+v names what is not there", docker)
	}
	checkLayer(t, layer)
}

// checkLayer checks modes and owners.
func checkLayer(t *testing.T, layer []byte) {
	t.Helper()
	headers, contents := unpack(t, layer)
	for name, want := range map[string]struct {
		mode int64
		user int
	}{
		"mandate": {0o755, 0}, "etc/": {0o755, 0}, "etc/config": {0o644, 0},
		"var/": {0o755, 0}, "var/lib/": {0o755, 0}, "var/lib/mandate/": {0o750, 65532},
	} {
		header := headers[name]
		if header == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if header.Mode != want.mode || header.Uid != want.user || header.Gid != want.user || header.ModTime.Unix() != 0 {
			t.Errorf("%s: mode %o, user %d:%d, time %v", name, header.Mode, header.Uid, header.Gid, header.ModTime)
		}
	}
	if len(headers) != 6 || string(contents["mandate"]) != "program" {
		t.Errorf("%d entries, program %q", len(headers), contents["mandate"])
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"latest":              func(o *Options) { o.Name = "a/b:latest" },
		"no_tag":              func(o *Options) { o.Name = "registry:5000/b" },
		"root":                func(o *Options) { o.User = 0 },
		"no_architecture":     func(o *Options) { o.Architecture = "" },
		"missing_entry_point": func(o *Options) { o.Entrypoint = "/other" },
		"a_relative_path":     func(o *Options) { o.Dirs = []string{"data"} },
		"a_path_that_climbs":  func(o *Options) { o.Dirs = []string{"/a/../../b"} },
		"a_path_twice":        func(o *Options) { o.Dirs = []string{"/mandate"} },
	} {
		t.Run(name, func(t *testing.T) {
			options := sample()
			change(&options)
			if _, err := Build(options); err == nil {
				t.Error("built")
			}
		})
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "image.tar")
	args := []string{"-o", out, "-name", "a/b:1", "-entrypoint", "/b", "-dir", "/data", "/b=" + program}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, contents := unpack(t, data); contents["oci-layout"] == nil {
		t.Error("not an OCI layout")
	}
	for _, bad := range [][]string{args[2:], {"-o", out, "/b"}, {"-o", out, "/b=" + program + "x"}, {"-nonsense"}} {
		if err := run(bad, io.Discard); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
