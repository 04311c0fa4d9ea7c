// Package kubernetes tests the manifests in deploy/k8s, the Tiltfile and the container images without a cluster: what
// they render to, that Kubernetes would accept it, that it keeps our policies, and that the binary has the commands,
// flags, ports and probes they use.
package kubernetes
