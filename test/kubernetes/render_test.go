package kubernetes

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; commit them only if you understand what changed")

func TestOverlaysRenderAsReviewed(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			got := render(t, overlay)
			golden := filepath.Join(root(t), "test", "kubernetes", "testdata", overlay+".yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("go test ./test/kubernetes -update (-want +got):\n%s", diff)
			}
		})
	}
}

// validate checks a document against the schemas of Kubernetes.
func validate(t *testing.T, document []byte) (string, error) {
	t.Helper()
	out, err := tool(t, document, "kubeconform", "-strict", "-output", "tap", "-schema-location",
		"test/kubernetes/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", "-")
	return string(out), err
}

func TestOverlaysAreValid(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			document := render(t, overlay)
			out, err := validate(t, document)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got, want := strings.Count(out, "\nok "), len(parse(t, document)); got != want {
				t.Errorf("%d of %d objects were validated\n%s", got, want, out)
			}
		})
	}
}

// TestValidationIsStrict shows that the check above can fail.
func TestValidationIsStrict(t *testing.T) {
	for name, change := range map[string][2]string{
		"an_unknown_field": {"enableServiceLinks: false", "enableServiceLink: false"},
		"a_wrong_type":     {"replicas: 1", "replicas: one"},
		"an_unknown_kind":  {"kind: PersistentVolumeClaim", "kind: PersistentVolumeWish"},
		"a_boolean_label":  {"app.kubernetes.io/component: gateway", "app.kubernetes.io/component: on"},
	} {
		t.Run(name, func(t *testing.T) {
			document := render(t, "single")
			broken := bytes.Replace(document, []byte(change[0]), []byte(change[1]), 1)
			if bytes.Equal(document, broken) {
				t.Fatalf("%q is not in the manifest", change[0])
			}
			if out, err := validate(t, broken); err == nil {
				t.Errorf("accepted:\n%s", out)
			}
		})
	}
}

func TestTiltfileFits(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "-C", "tools", "run", "./tiltcheck", "../Tiltfile")
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
