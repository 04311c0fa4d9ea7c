package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImageFitsTheManifests keeps the two ways to build the image and the manifests in step.
func TestImageFitsTheManifests(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	dockerfile, makefile := read("deploy/Dockerfile"), read("Makefile")
	for _, want := range []string{"FROM scratch\n", "USER 65532:65532\n", "ENTRYPOINT [\"/mandate\"]\n"} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("Dockerfile: no line %q", want)
		}
	}
	if !strings.Contains(makefile, "-entrypoint /mandate ") {
		t.Error("Makefile: the image starts something else")
	}
	for _, overlay := range overlays {
		for _, workload := range workloads(parse(t, render(t, overlay))) {
			pod := workload.Spec.Template.Spec
			if pod.SecurityContext.RunAsUser != 65532 {
				t.Errorf("%s: runs as %d, the image is made for 65532", workload.Metadata.Name, pod.SecurityContext.RunAsUser)
			}
			for _, c := range pod.Containers {
				if !strings.Contains(makefile, "IMAGE ?= "+c.Image+"\n") {
					t.Errorf("%s: nothing in the Makefile builds %s", workload.Metadata.Name, c.Image)
				}
			}
		}
	}
}
