package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsOptions reads the configuration that the manifests mount, as the server itself would.
func natsOptions(t *testing.T, objects []manifest) *server.Options {
	t.Helper()
	workload, ok := find(objects, "StatefulSet", "nats")
	if !ok {
		t.Fatal("no NATS server")
	}
	var text string
	for _, v := range workload.Spec.Template.Spec.Volumes {
		if v.ConfigMap != nil {
			config, _ := find(objects, "ConfigMap", v.ConfigMap.Name)
			text = config.Data["nats.conf"]
		}
	}
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SERVER_NAME", "nats-0")
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return options
}

func TestNATSConfiguration(t *testing.T) {
	objects := parse(t, render(t, "split"))
	options := natsOptions(t, objects)
	workload, _ := find(objects, "StatefulSet", "nats")
	pod := workload.Spec.Template.Spec

	ports := map[string]int{}
	for _, port := range pod.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	if ports["nats"] != options.Port || ports["cluster"] != options.Cluster.Port || ports["monitor"] != options.HTTPPort {
		t.Errorf("ports %v, configured %d, %d, %d", ports, options.Port, options.Cluster.Port, options.HTTPPort)
	}
	if options.ServerName != "nats-0" || options.Cluster.Name == "" || len(options.Routes) != workload.Spec.Replicas {
		t.Errorf("name %q, cluster %q, %d routes for %d servers",
			options.ServerName, options.Cluster.Name, len(options.Routes), workload.Spec.Replicas)
	}
	for _, route := range options.Routes {
		if !strings.HasSuffix(route.Hostname(), "."+workload.Spec.ServiceName) {
			t.Errorf("route %s does not lead to %s", route, workload.Spec.ServiceName)
		}
	}
	if !options.JetStream || !options.SyncAlways {
		t.Error("a message would be acknowledged before it is on disk")
	}
	if options.MaxPayload < 512<<10 {
		t.Errorf("a commit with headers would not fit in %d bytes", options.MaxPayload)
	}
	grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second
	if options.LameDuckDuration < 30*time.Second || grace < options.LameDuckDuration+20*time.Second {
		t.Errorf("lame duck for %v within a grace period of %v", options.LameDuckDuration, grace)
	}
}

// TestNATSHasRoomForItsFiles compares the limit of the store with the size of its volume.
func TestNATSHasRoomForItsFiles(t *testing.T) {
	objects := parse(t, render(t, "split"))
	options := natsOptions(t, objects)
	workload, _ := find(objects, "StatefulSet", "nats")
	mounted := false
	for _, mount := range workload.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounted = mounted || mount.Name == "data" && mount.MountPath == options.StoreDir
	}
	if !mounted {
		t.Errorf("%s is not on the volume", options.StoreDir)
	}
	const volume = 10 << 30
	if size := workload.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests["storage"]; size != "10Gi" {
		t.Fatalf("volume of %s; adapt this test", size)
	}
	if options.JetStreamMaxStore <= 0 || options.JetStreamMaxStore > volume*95/100 {
		t.Errorf("the store may grow to %d bytes on a volume of %d", options.JetStreamMaxStore, volume)
	}
}

// TestNATSVersion keeps the image and the server that our own tests embed the same.
func TestNATSVersion(t *testing.T) {
	objects := parse(t, render(t, "split"))
	workload, _ := find(objects, "StatefulSet", "nats")
	if _, tag, _ := strings.Cut(workload.Spec.Template.Spec.Containers[0].Image, ":"); tag != server.VERSION {
		t.Errorf("image of %s, go.mod has %s", tag, server.VERSION)
	}
}
