package kubernetes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"example.org/mandate/internal/req"
)

// overlays are the ways of deploying that are kept.
var overlays = []string{"single", "split"}

// manifest is the part of a Kubernetes object that the tests look at.
type manifest struct {
	Kind     string
	Metadata metadata
	Data     map[string]string
	Spec     spec
}

// metadata names an object.
type metadata struct {
	Name, Namespace string
	Labels          map[string]string
}

// spec holds the fields of all kinds that are used here.
type spec struct {
	Replicas             int
	ServiceName          string
	Selector             any // a map of labels in a Service, a label selector elsewhere
	Template             template
	Ports                []servicePort
	MaxUnavailable       *int
	VolumeClaimTemplates []manifest
	Resources            resources
}

// template is what a workload makes pods from.
type template struct {
	Metadata metadata
	Spec     podSpec
}

// podSpec is a pod.
type podSpec struct {
	ServiceAccountName            string
	AutomountServiceAccountToken  *bool
	EnableServiceLinks            *bool
	HostNetwork, HostPID, HostIPC bool
	TerminationGracePeriodSeconds int
	SecurityContext               struct {
		RunAsNonRoot                   bool
		RunAsUser, RunAsGroup, FSGroup int
		SeccompProfile                 struct{ Type string }
	}
	InitContainers []container
	Containers     []container
	Volumes        []volume
}

// container is one container of a pod.
type container struct {
	Name, Image, ImagePullPolicy string
	Args                         []string
	Env                          []struct{ Name, Value string }
	Ports                        []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe *probe
	SecurityContext                             struct {
		AllowPrivilegeEscalation *bool
		Privileged               bool
		ReadOnlyRootFilesystem   bool
		Capabilities             struct{ Add, Drop []string }
	}
	Resources    resources
	VolumeMounts []struct{ Name, MountPath string }
}

// resources are what a container or a volume asks for.
type resources struct {
	Requests, Limits map[string]string
}

// probe is a health check.
type probe struct {
	HTTPGet *struct{ Path, Port string }
}

// servicePort is a port of a Service.
type servicePort struct {
	Name       string
	Port       int
	TargetPort string
}

// volume is where the files of a pod come from.
type volume struct {
	Name                  string
	HostPath              any
	ConfigMap             *struct{ Name string }
	PersistentVolumeClaim *struct{ ClaimName string }
}

// root returns the root of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tool runs one of the pinned tools in the root of the module and returns its standard output.
func tool(t *testing.T, stdin []byte, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=tools/go.mod"}, args...)...)
	cmd.Dir = root(t)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Logf("%s: %s", strings.Join(args, " "), exit.Stderr)
	}
	return out, err
}

// rendered keeps what was rendered, since several tests look at it.
var rendered sync.Map

// render returns an overlay as one document.
func render(t *testing.T, overlay string) []byte {
	t.Helper()
	if out, ok := rendered.Load(overlay); ok {
		if data, ok := out.([]byte); ok {
			return data
		}
	}
	readSources(t)
	out, err := tool(t, nil, "kustomize", "build", filepath.Join("deploy", "k8s", "overlays", overlay))
	if err != nil {
		t.Fatalf("render %s: %v", overlay, err)
	}
	rendered.Store(overlay, out)
	return out
}

// readSources reads what other programs will read, so that go test sees when a cached result is stale.
func readSources(t *testing.T) {
	t.Helper()
	for _, name := range []string{"deploy", "Tiltfile", "tools/go.mod", "test/kubernetes/schemas"} {
		err := filepath.WalkDir(filepath.Join(root(t), name), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// parse splits a document into its objects.
func parse(t *testing.T, document []byte) []manifest {
	t.Helper()
	var objects []manifest
	for part := range bytes.SplitSeq(document, []byte("\n---\n")) {
		var object manifest
		if err := yaml.Unmarshal(part, &object); err != nil {
			t.Fatalf("parse manifest: %v\n%s", err, part)
		}
		objects = append(objects, object)
	}
	return objects
}

// workloads returns the objects that make pods.
func workloads(objects []manifest) []manifest {
	var found []manifest
	for _, object := range objects {
		if len(object.Spec.Template.Spec.Containers) > 0 {
			found = append(found, object)
		}
	}
	return found
}

// find returns the object of a kind and name.
func find(objects []manifest, kind, name string) (manifest, bool) {
	for _, object := range objects {
		if object.Kind == kind && object.Metadata.Name == name {
			return object, true
		}
	}
	return manifest{}, false
}
