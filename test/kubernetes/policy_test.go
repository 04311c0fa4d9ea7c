package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// violations returns how the objects break our policies, one sentence each.
func violations(objects []manifest) []string {
	var wrong []string
	for _, workload := range workloads(objects) {
		name := workload.Kind + " " + workload.Metadata.Name
		pod := workload.Spec.Template.Spec
		for _, why := range podViolations(pod) {
			wrong = append(wrong, name+": "+why)
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			for _, why := range containerViolations(c, workload.Kind != "Job") {
				wrong = append(wrong, name+": container "+c.Name+": "+why)
			}
			for _, mount := range c.VolumeMounts {
				if !hasVolume(workload, mount.Name) {
					wrong = append(wrong, fmt.Sprintf("%s: container %s: no volume %s", name, c.Name, mount.Name))
				}
			}
		}
		if workload.Kind != "Job" && disruptionBudgets(objects, workload) != 1 {
			wrong = append(wrong, name+": needs exactly one disruption budget")
		}
	}
	return append(wrong, referenceViolations(objects)...)
}

// podViolations checks a pod against the restricted security standard and our own rules.
func podViolations(pod podSpec) []string {
	var wrong []string
	add := func(bad bool, why string) {
		if bad {
			wrong = append(wrong, why)
		}
	}
	add(pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken, "gets a token of the Kubernetes API")
	add(pod.EnableServiceLinks == nil || *pod.EnableServiceLinks, "gets the addresses of other services in its environment")
	add(pod.HostNetwork || pod.HostPID || pod.HostIPC, "shares a name space with its node")
	security := pod.SecurityContext
	add(!security.RunAsNonRoot || security.RunAsUser == 0 || security.RunAsGroup == 0, "may run as root")
	add(security.FSGroup == 0, "could not write to its volumes")
	add(security.SeccompProfile.Type != "RuntimeDefault", "has no seccomp profile")
	for _, v := range pod.Volumes {
		add(v.HostPath != nil, "mounts a folder of its node")
	}
	return wrong
}

// containerViolations checks one container; probed says whether it must answer probes.
func containerViolations(c container, probed bool) []string {
	var wrong []string
	add := func(bad bool, why string) {
		if bad {
			wrong = append(wrong, why)
		}
	}
	tag := c.Image[strings.LastIndex(c.Image, "/")+1:]
	_, tag, tagged := strings.Cut(tag, ":")
	add(!tagged || tag == "latest", "image has no fixed tag")
	add(c.ImagePullPolicy != "IfNotPresent", "pull policy is not IfNotPresent")
	security := c.SecurityContext
	add(security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation, "may gain privileges")
	add(security.Privileged, "is privileged")
	add(!security.ReadOnlyRootFilesystem, "may change its own image")
	add(!slices.Equal(security.Capabilities.Drop, []string{"ALL"}) || len(security.Capabilities.Add) > 0, "keeps capabilities")
	add(c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "", "requests no resources")
	add(c.Resources.Limits["memory"] == "", "has no memory limit")
	if !probed {
		return wrong
	}
	for name, p := range map[string]*probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if p == nil || p.HTTPGet == nil {
			wrong = append(wrong, "has no "+name+" probe")
			continue
		}
		known := slices.ContainsFunc(c.Ports, func(port struct {
			Name          string
			ContainerPort int
		},
		) bool {
			return port.Name == p.HTTPGet.Port
		})
		add(!known, name+" probe asks a port that is not there")
	}
	return wrong
}

// hasVolume reports whether a workload has a volume of that name.
func hasVolume(workload manifest, name string) bool {
	return slices.ContainsFunc(workload.Spec.Template.Spec.Volumes, func(v volume) bool { return v.Name == name }) ||
		slices.ContainsFunc(workload.Spec.VolumeClaimTemplates, func(m manifest) bool { return m.Metadata.Name == name })
}

// selects reports whether a selector, in either of its two forms, chooses the labels.
func selects(selector any, labels map[string]string) bool {
	wanted, ok := selector.(map[string]any)
	if !ok || len(wanted) == 0 {
		return false
	}
	if inner, ok := wanted["matchLabels"].(map[string]any); ok {
		wanted = inner
	}
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// disruptionBudgets counts the budgets that cover a workload and allow one pod to go.
func disruptionBudgets(objects []manifest, workload manifest) int {
	count := 0
	for _, object := range objects {
		covers := object.Kind == "PodDisruptionBudget" && selects(object.Spec.Selector, workload.Spec.Template.Metadata.Labels)
		if covers && object.Spec.MaxUnavailable != nil && *object.Spec.MaxUnavailable == 1 {
			count++
		}
	}
	return count
}

// referenceViolations checks that what is named is there.
func referenceViolations(objects []manifest) []string {
	var wrong []string
	for _, object := range objects {
		if object.Kind != "Namespace" && object.Metadata.Namespace != "mandate" {
			wrong = append(wrong, object.Kind+" "+object.Metadata.Name+": is in another name space")
		}
		if object.Kind == "Service" {
			wrong = append(wrong, serviceViolations(objects, object)...)
		}
	}
	for _, workload := range workloads(objects) {
		pod := workload.Spec.Template.Spec
		missing := map[string]string{}
		if pod.ServiceAccountName != "" {
			missing[pod.ServiceAccountName] = "ServiceAccount"
		}
		if workload.Spec.ServiceName != "" {
			missing[workload.Spec.ServiceName] = "Service"
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap != nil {
				missing[v.ConfigMap.Name] = "ConfigMap"
			}
			if v.PersistentVolumeClaim != nil {
				missing[v.PersistentVolumeClaim.ClaimName] = "PersistentVolumeClaim"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(missing)) {
			if _, ok := find(objects, missing[name], name); !ok {
				wrong = append(wrong, fmt.Sprintf("%s %s: no %s %s", workload.Kind, workload.Metadata.Name, missing[name], name))
			}
		}
		if workload.Kind != "Job" && !selects(workload.Spec.Selector, workload.Spec.Template.Metadata.Labels) {
			wrong = append(wrong, workload.Kind+" "+workload.Metadata.Name+": does not select its own pods")
		}
	}
	return wrong
}

// serviceViolations checks that a Service leads to exactly one workload, and to ports that it has.
func serviceViolations(objects []manifest, service manifest) []string {
	var wrong []string
	var behind []manifest
	for _, workload := range workloads(objects) {
		if selects(service.Spec.Selector, workload.Spec.Template.Metadata.Labels) {
			behind = append(behind, workload)
		}
	}
	if len(behind) != 1 {
		return []string{fmt.Sprintf("Service %s: leads to %d workloads", service.Metadata.Name, len(behind))}
	}
	for _, port := range service.Spec.Ports {
		found := false
		for _, c := range behind[0].Spec.Template.Spec.Containers {
			for _, p := range c.Ports {
				found = found || p.Name == port.TargetPort
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("Service %s: no container port %s", service.Metadata.Name, port.TargetPort))
		}
	}
	return wrong
}

func TestOverlaysKeepThePolicies(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			objects := parse(t, render(t, overlay))
			for _, why := range violations(objects) {
				t.Error(why)
			}
			if len(workloads(objects)) == 0 {
				t.Error("nothing runs")
			}
			namespace, ok := find(objects, "Namespace", "mandate")
			if !ok || namespace.Metadata.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Error("the name space does not enforce the restricted security standard")
			}
		})
	}
}

func TestSplitRunsEveryService(t *testing.T) {
	objects := parse(t, render(t, "split"))
	for _, name := range []string{"admission", "interpreter", "executor", "evaluator", "presenter", "gateway"} {
		if workload, ok := find(objects, "Deployment", name); !ok || workload.Spec.Replicas < 2 {
			t.Errorf("%s: present %v, %d replicas, want at least 2", name, ok, workload.Spec.Replicas)
		}
	}
	if workload, ok := find(objects, "StatefulSet", "nats"); !ok || workload.Spec.Replicas != 3 {
		t.Errorf("nats: present %v, %d replicas, want 3", ok, workload.Spec.Replicas)
	}
}

// TestPoliciesRefuse breaks one thing at a time in manifests that are otherwise good.
func TestPoliciesRefuse(t *testing.T) {
	yes := true
	pod := func(change func(*podSpec)) func([]manifest) {
		return func(objects []manifest) {
			for i := range objects {
				if objects[i].Kind == "StatefulSet" {
					change(&objects[i].Spec.Template.Spec)
				}
			}
		}
	}
	first := func(change func(*container)) func([]manifest) {
		return pod(func(p *podSpec) { change(&p.Containers[0]) })
	}
	other := func(kind string, change func(*manifest)) func([]manifest) {
		return func(objects []manifest) {
			for i := range objects {
				if objects[i].Kind == kind {
					change(&objects[i])
				}
			}
		}
	}
	for name, change := range map[string]func([]manifest){
		"a_token":              pod(func(p *podSpec) { p.AutomountServiceAccountToken = nil }),
		"service_links":        pod(func(p *podSpec) { p.EnableServiceLinks = &yes }),
		"the_host_network":     pod(func(p *podSpec) { p.HostNetwork = true }),
		"root":                 pod(func(p *podSpec) { p.SecurityContext.RunAsUser = 0 }),
		"no_seccomp":           pod(func(p *podSpec) { p.SecurityContext.SeccompProfile.Type = "Unconfined" }),
		"a_host_path":          pod(func(p *podSpec) { p.Volumes[0].HostPath = map[string]any{"path": "/"} }),
		"a_missing_volume":     pod(func(p *podSpec) { p.Volumes[0].Name = "other" }),
		"a_missing_claim":      pod(func(p *podSpec) { p.Volumes[1].PersistentVolumeClaim.ClaimName = "other" }),
		"a_missing_account":    pod(func(p *podSpec) { p.ServiceAccountName = "other" }),
		"latest":               first(func(c *container) { c.Image = "a/b:latest" }),
		"no_tag":               first(func(c *container) { c.Image = "registry:5000/b" }),
		"escalation":           first(func(c *container) { c.SecurityContext.AllowPrivilegeEscalation = &yes }),
		"a_writable_root":      first(func(c *container) { c.SecurityContext.ReadOnlyRootFilesystem = false }),
		"a_capability":         first(func(c *container) { c.SecurityContext.Capabilities.Add = []string{"NET_ADMIN"} }),
		"no_memory_limit":      first(func(c *container) { c.Resources.Limits = nil }),
		"no_requests":          first(func(c *container) { c.Resources.Requests = nil }),
		"no_liveness":          first(func(c *container) { c.LivenessProbe = nil }),
		"a_probe_of_no_port":   first(func(c *container) { c.Ports[0].Name = "other" }),
		"a_budget_of_none":     other("PodDisruptionBudget", func(m *manifest) { *m.Spec.MaxUnavailable = 0 }),
		"a_budget_elsewhere":   other("PodDisruptionBudget", func(m *manifest) { m.Spec.Selector = map[string]any{"a": "b"} }),
		"a_service_to_nothing": other("Service", func(m *manifest) { m.Spec.Selector = map[string]any{"a": "b"} }),
		"a_service_to_no_port": other("Service", func(m *manifest) { m.Spec.Ports[0].TargetPort = "other" }),
		"another_name_space":   other("PersistentVolumeClaim", func(m *manifest) { m.Metadata.Namespace = "default" }),
		"an_unselected_pod":    other("StatefulSet", func(m *manifest) { m.Spec.Selector = map[string]any{"a": "b"} }),
	} {
		t.Run(name, func(t *testing.T) {
			objects := parse(t, render(t, "single"))
			change(objects)
			if wrong := violations(objects); len(wrong) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}
