package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// workloadKinds are the kinds that run pods.
var workloadKinds = []string{"CronJob", "DaemonSet", "Deployment", "Job", "StatefulSet"}

// workload is the part of a manifest that a Tiltfile refers to.
type workload struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct{ Containers []container }
		}
	}
}

// container is one container of a workload.
type container struct {
	Image string
	Ports []struct {
		ContainerPort int `json:"containerPort"`
	}
}

// hasPort reports whether a container listens on the port.
func (w workload) hasPort(port string) bool {
	for _, c := range w.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if strconv.Itoa(p.ContainerPort) == port {
				return true
			}
		}
	}
	return false
}

// findWorkloads returns the workloads of a multi-document manifest.
func findWorkloads(manifests []byte) ([]workload, error) {
	var found []workload
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		var w workload
		if err := yaml.Unmarshal(document, &w); err != nil {
			return nil, fmt.Errorf("parse manifest: %w", err)
		}
		if slices.Contains(workloadKinds, w.Kind) {
			found = append(found, w)
		}
	}
	return found, nil
}

// repository returns an image reference without its tag.
func repository(image string) string {
	slash := strings.LastIndex(image, "/")
	if colon := strings.LastIndex(image, ":"); colon > slash {
		return image[:colon]
	}
	return image
}
