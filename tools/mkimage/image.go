package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// A File is one program or document in the image.
type File struct {
	Path string // absolute path in the image
	Data []byte
}

// Options say what an image holds.
type Options struct {
	Name         string // reference with a tag
	Entrypoint   string // absolute path of one of the files
	Architecture string // as Go names it
	User         int    // numeric user and group that the program runs as; never root
	Dirs         []string
	Files        []File
}

// validate reports everything that is wrong with the options.
func (o Options) validate() error {
	var errs []error
	base := o.Name[strings.LastIndex(o.Name, "/")+1:]
	if _, tag, ok := strings.Cut(base, ":"); !ok || tag == "" || tag == "latest" {
		errs = append(errs, fmt.Errorf("name %q needs a tag other than latest", o.Name))
	}
	if o.User <= 0 {
		errs = append(errs, errors.New("the user must not be root"))
	}
	if o.Architecture == "" {
		errs = append(errs, errors.New("the architecture is missing"))
	}
	if !slices.ContainsFunc(o.Files, func(f File) bool { return f.Path == o.Entrypoint }) {
		errs = append(errs, fmt.Errorf("entry point %q is not one of the files", o.Entrypoint))
	}
	seen := map[string]bool{}
	for _, p := range o.paths() {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			errs = append(errs, fmt.Errorf("%q is not a clean absolute path", p))
		}
		if seen[p] {
			errs = append(errs, fmt.Errorf("%q is there twice", p))
		}
		seen[p] = true
	}
	return errors.Join(errs...)
}

// paths returns the paths of all folders and files that were asked for.
func (o Options) paths() []string {
	paths := slices.Clone(o.Dirs)
	for _, file := range o.Files {
		paths = append(paths, file.Path)
	}
	return paths
}

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

// platform says where an image runs.
type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// config is the image configuration.
type config struct {
	platform
	Created string          `json:"created"`
	Config  containerConfig `json:"config"`
	RootFS  rootFS          `json:"rootfs"`
}

// containerConfig says how the program is started.
type containerConfig struct {
	User       string   `json:"User"`
	Entrypoint []string `json:"Entrypoint"`
	WorkingDir string   `json:"WorkingDir"`
}

// rootFS lists the layers of the file system.
type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// manifest ties configuration and layers together.
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// index is the entry of an OCI layout.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// dockerManifest is the entry that docker load reads.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

const (
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
)

// Build returns the image as the bytes of a tar file.
func Build(options Options) ([]byte, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	layer, err := buildLayer(options)
	if err != nil {
		return nil, err
	}
	where := platform{Architecture: options.Architecture, OS: "linux"}
	configBytes, err := json.Marshal(config{
		platform: where,
		Created:  time.Unix(0, 0).UTC().Format(time.RFC3339),
		Config: containerConfig{
			User:       fmt.Sprintf("%d:%d", options.User, options.User),
			Entrypoint: []string{options.Entrypoint},
			WorkingDir: "/",
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{digest(layer)}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	manifestBytes, err := json.Marshal(manifest{
		SchemaVersion: 2,
		MediaType:     typeManifest,
		Config:        describe(typeConfig, configBytes),
		Layers:        []descriptor{describe(typeLayer, layer)},
	})
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	entry := describe(typeManifest, manifestBytes)
	entry.Platform = &where
	entry.Annotations = map[string]string{
		"io.containerd.image.name":          options.Name,
		"org.opencontainers.image.ref.name": options.Name[strings.LastIndex(options.Name, ":")+1:],
	}
	return buildLayout(options.Name, entry, [][]byte{configBytes, manifestBytes, layer})
}

// buildLayout writes the outer tar file; blobs are the configuration, the manifest and the layer.
func buildLayout(name string, entry descriptor, blobs [][]byte) ([]byte, error) {
	indexBytes, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{entry}})
	if err != nil {
		return nil, fmt.Errorf("encode index: %w", err)
	}
	dockerBytes, err := json.Marshal([]dockerManifest{{
		Config: blobPath(blobs[0]), RepoTags: []string{name}, Layers: []string{blobPath(blobs[2])},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode docker manifest: %w", err)
	}
	files := []File{
		{Path: "oci-layout", Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{Path: "index.json", Data: indexBytes},
		{Path: "manifest.json", Data: dockerBytes},
	}
	for _, blob := range blobs {
		files = append(files, File{Path: blobPath(blob), Data: blob})
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: file.Path, Mode: 0o644, Size: int64(len(file.Data))}
		if err := add(w, header, file.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("finish image: %w", err)
	}
	return out.Bytes(), nil
}

// buildLayer writes the file system: parents first, folders asked for belong to the user, all else to root.
func buildLayer(options Options) ([]byte, error) {
	owned := map[string]bool{}
	for _, dir := range options.Dirs {
		owned[dir] = true
	}
	folders := map[string]bool{}
	for _, p := range options.Dirs {
		folders[p] = true
	}
	for _, p := range options.paths() {
		for parent := path.Dir(p); parent != "/"; parent = path.Dir(parent) {
			folders[parent] = true
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		header := tar.Header{Typeflag: tar.TypeDir, Name: folder[1:] + "/", Mode: 0o755}
		if owned[folder] {
			header.Uid, header.Gid, header.Mode = options.User, options.User, 0o750
		}
		if err := add(w, header, nil); err != nil {
			return nil, err
		}
	}
	files := slices.Clone(options.Files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, file := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: file.Path[1:], Mode: 0o644, Size: int64(len(file.Data))}
		if file.Path == options.Entrypoint {
			header.Mode = 0o755
		}
		if err := add(w, header, file.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("finish layer: %w", err)
	}
	return out.Bytes(), nil
}

// add writes one entry; every entry has the same time.
func add(w *tar.Writer, header tar.Header, data []byte) error {
	header.ModTime = time.Unix(0, 0)
	header.Format = tar.FormatUSTAR
	if err := w.WriteHeader(&header); err != nil {
		return fmt.Errorf("write header of %s: %w", header.Name, err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", header.Name, err)
	}
	return nil
}

// describe names a blob.
func describe(mediaType string, blob []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(blob), Size: len(blob)}
}

// digest returns the digest of a blob as OCI writes it.
func digest(blob []byte) string {
	sum := sha256.Sum256(blob)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// blobPath returns where a blob lies in an OCI layout.
func blobPath(blob []byte) string {
	return "blobs/" + strings.Replace(digest(blob), ":", "/", 1)
}
