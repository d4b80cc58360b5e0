package hostfile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// pathArgs are the arguments whose value is a path that the component reads, or that it writes.
type pathArgs struct {
	reads, writes []string
}

// pathArgsOf are those of the components that run as static pods with mounts of kubewright's, for
// Kubernetes 1.34 to 1.37 (cmd/*/app/options, and the options of k8s.io/apiserver).
var pathArgsOf = map[string]pathArgs{
	"kube-apiserver": {
		reads: []string{
			"admission-control-config-file", "audit-policy-file", "audit-webhook-config-file", "authentication-config", "authentication-token-webhook-config-file",
			"authorization-config", "authorization-policy-file", "authorization-webhook-config-file", "client-ca-file", "egress-selector-config-file", "encryption-provider-config",
			"kubelet-certificate-authority", "kubelet-client-certificate", "kubelet-client-key", "oidc-ca-file", "peer-ca-file", "proxy-client-cert-file", "proxy-client-key-file",
			"requestheader-client-ca-file", "service-account-key-file", "service-account-signing-key-file", "tls-cert-file", "tls-private-key-file", "token-auth-file", "tracing-config-file",
		},
		writes: []string{"audit-log-path"},
	},
	"kube-controller-manager": {reads: []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "cloud-config", "cluster-signing-cert-file", "cluster-signing-key-file", "kubeconfig",
		"requestheader-client-ca-file", "root-ca-file", "service-account-private-key-file", "tls-cert-file", "tls-private-key-file",
	}},
	// etcd: server/etcdmain/config.go
	"etcd": {reads: []string{
		"auth-token", "cert-file", "client-cert-file", "client-crl-file", "client-key-file", "config-file", "key-file", "peer-cert-file", "peer-client-cert-file", "peer-client-key-file", "peer-crl-file",
		"peer-key-file", "peer-trusted-ca-file", "trusted-ca-file",
	}},
	"kube-scheduler": {reads: []string{
		"authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "config", "kubeconfig", "requestheader-client-ca-file", "tls-cert-file", "tls-private-key-file",
	}},
}

// Reads reports whether the value of a component's argument is a path that it reads.
func Reads(component, argument string) bool {
	return slices.Contains(pathArgsOf[component].reads, argument)
}

// Writes reports whether the value of a component's argument is a path that it writes.
func Writes(component, argument string) bool {
	return slices.Contains(pathArgsOf[component].writes, argument)
}

// HoldsText reports whether a leaf of a tree is the text.
func HoldsText(v state.Value, text string) bool {
	switch v.Kind() {
	case state.KindMap:
		for _, e := range v.AsMap() {
			if HoldsText(e, text) {
				return true
			}
		}
	case state.KindList:
		return slices.ContainsFunc(v.AsList(), func(e state.Value) bool { return HoldsText(e, text) })
	case state.KindString:
		return v.AsString() == text
	}
	return false
}

// VolumeName names the volume of a path: after the path, with a digest where that is too long or taken.
func VolumeName(p string, taken func(string) bool) string {
	name := strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(p), noLabel), "-"), "-")
	if len(name) <= 63 && name != "" && !taken(name) && !slices.Contains([]string{"ca-certs", "k8s-certs", "kubeconfig", "flexvolume-dir", "etcd-certs", "etcd-data"}, name) {
		return name
	}
	sum := sha256.Sum256([]byte(p))
	return strings.TrimLeft(strings.TrimRight(name[:min(len(name), 54)], "-")+"-"+hex.EncodeToString(sum[:4]), "-")
}

// noLabel reports whether the name of a volume cannot hold a character.
func noLabel(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// DistributionCAs are the folders that kubeadm mounts where the host has them.
var DistributionCAs = []string{"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"}
