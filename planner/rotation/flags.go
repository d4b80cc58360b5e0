package rotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A rotation writes the files that kubeadm makes components use, and makes the components read
// them. It does not bring the new CA or key to other files that the configuration makes a component
// use: the component would keep the old one, and not be trusted from the last stage on.

// fileFlag is a flag of a component, or a field of the kubelet's configuration, that names a file
// which a rotation changes.
type fileFlag struct {
	component, name string
	// file is the expected path when a rotation begins, relative to the certificates folder or
	// absolute. It is empty for a flag that must not be set.
	file string
}

// fileFlags are the flags of everything that can be rotated, according to the sources of Kubernetes
// 1.34 to 1.37 and etcd 3.6 and 3.7.
var fileFlags = map[string][]fileFlag{
	"ca": {
		{"kube-apiserver", "client-ca-file", "ca.crt"},
		{"kube-apiserver", "tls-cert-file", "apiserver.crt"},
		{"kube-apiserver", "kubelet-client-certificate", "apiserver-kubelet-client.crt"},
		{"kube-controller-manager", "client-ca-file", "ca.crt"},
		{"kube-controller-manager", "root-ca-file", "ca.crt"},
		{"kube-controller-manager", "kubeconfig", pki.ControllerConf},
		{"kube-controller-manager", "authentication-kubeconfig", pki.ControllerConf},
		{"kube-controller-manager", "authorization-kubeconfig", pki.ControllerConf},
		{"kube-controller-manager", "cluster-signing-cert-file", "ca-old.crt"}, // ca.crt is a bundle by then
		{"kube-controller-manager", "cluster-signing-key-file", "ca.key"},
		// The flags of single signers take precedence over the two.
		{"kube-controller-manager", "cluster-signing-kubelet-serving-cert-file", ""},
		{"kube-controller-manager", "cluster-signing-kubelet-serving-key-file", ""},
		{"kube-controller-manager", "cluster-signing-kubelet-client-cert-file", ""},
		{"kube-controller-manager", "cluster-signing-kubelet-client-key-file", ""},
		{"kube-controller-manager", "cluster-signing-kube-apiserver-client-cert-file", ""},
		{"kube-controller-manager", "cluster-signing-kube-apiserver-client-key-file", ""},
		{"kube-controller-manager", "cluster-signing-legacy-unknown-cert-file", ""},
		{"kube-controller-manager", "cluster-signing-legacy-unknown-key-file", ""},
		{"kube-scheduler", "client-ca-file", "ca.crt"},
		{"kube-scheduler", "kubeconfig", pki.SchedulerConf},
		{"kube-scheduler", "authentication-kubeconfig", pki.SchedulerConf},
		{"kube-scheduler", "authorization-kubeconfig", pki.SchedulerConf},
		{"kubelet", "client-ca-file", "ca.crt"},
		{"kubelet", "authentication.x509.clientCAFile", "ca.crt"},
	},
	"front-proxy-ca": {
		{"kube-apiserver", "requestheader-client-ca-file", "front-proxy-ca.crt"},
		{"kube-apiserver", "proxy-client-cert-file", "front-proxy-client.crt"},
		{"kube-controller-manager", "requestheader-client-ca-file", "front-proxy-ca.crt"},
		{"kube-scheduler", "requestheader-client-ca-file", "front-proxy-ca.crt"},
	},
	"etcd-ca": {
		{"etcd", "trusted-ca-file", "etcd/ca.crt"},
		{"etcd", "cert-file", "etcd/server.crt"},
		{"etcd", "peer-trusted-ca-file", "etcd/ca.crt"},
		{"etcd", "peer-cert-file", "etcd/peer.crt"},
		{"kube-apiserver", "etcd-cafile", "etcd/ca.crt"},
		{"kube-apiserver", "etcd-certfile", "apiserver-etcd-client.crt"},
	},
	serviceAccount: {
		{"kube-apiserver", "service-account-key-file", "sa.pub"},
		{"kube-apiserver", "service-account-signing-key-file", "sa.key"},
		{"kube-apiserver", "service-account-signing-endpoint", ""},
		{"kube-controller-manager", "service-account-private-key-file", "sa.key"},
	},
}

// isField reports whether it is a field of the configuration, not a flag.
func (f fileFlag) isField() bool { return strings.Contains(f.name, ".") }

func (f fileFlag) String() string {
	if f.isField() {
		return "the " + f.component + "'s " + f.name
	}
	return f.component + "'s --" + f.name
}

// item returns the path of the file that contains the flag.
func (f fileFlag) item() string {
	switch {
	case f.isField():
		return topology.KubeletConfig
	case f.component == "kubelet":
		return topology.KubeletFlags
	}
	return topology.Manifest(f.component)
}

// wanted returns the absolute path of the expected file.
func (f fileFlag) wanted(c *config.Cluster) string {
	if f.file == "" || strings.HasPrefix(f.file, "/") {
		return f.file
	}
	return c.Certificates.Dir + "/" + f.file
}

// strayFlag is a flag that names another file on a node.
type strayFlag struct {
	fileFlag
	value string
	node  *topology.Node
	at    state.Source
}

// strayIn returns the stray values of the flag in an item; a flag that is given several times has
// several values.
func (f fileFlag) strayIn(n *topology.Node, it state.Item) []strayFlag {
	var out []strayFlag
	add := func(value, path string) {
		if value == f.wanted(n.Cluster.Cluster) {
			return
		}
		at := config.Origins(it.Origin).Of(path)
		if at.File == "" {
			at = n.Cluster.Source
		}
		out = append(out, strayFlag{f, value, n, at})
	}
	if field := it.Attributes.Get(f.name); f.isField() && !field.IsNull() {
		add(field.AsString(), f.name)
	}
	for _, a := range it.Attributes.Get("args").AsArgs() {
		if kubeadm.FlagName(f.component, a.Name) == f.name {
			add(a.Of().AsString(), state.JoinPath("args", a.Name))
		}
	}
	return out
}

// strayFlags returns the flags with which the configuration makes components use other files than
// those of a CA, or of the service account keys, each value once. It includes the effect of
// patches, because it checks the rendered files of the first stage.
func strayFlags(c *topology.Cluster, rotated string) []strayFlag {
	var out []strayFlag
	place := slices.Index(c.Fleet.Clusters, c)
	for _, n := range signingWith(c.Fleet, place, topology.SigningAt(c, topology.TrustBoth)).Clusters[place].Nodes {
		if n.Report == nil || kubeadm.Check(n.Input()) != nil {
			continue // refused elsewhere
		}
		for _, it := range slices.Concat(staticpod.Etcd.NodeItems(n), staticpod.ControlPlane.NodeItems(n), kubelet.KubeletStart.NodeItems(n)) {
			for _, f := range fileFlags[rotated] {
				if f.item() != it.Address.ID() {
					continue
				}
				for _, s := range f.strayIn(n, it) {
					if !slices.ContainsFunc(out, func(o strayFlag) bool { return o.fileFlag == s.fileFlag && o.value == s.value }) {
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// checkFlags refuses to begin a rotation that would leave a component behind.
func checkFlags(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range c.Rotating {
		if r.Begun {
			continue
		}
		for _, s := range strayFlags(c, r.Name) {
			has := fmt.Sprintf("it must be %q", s.wanted(c.Cluster))
			if s.file == "" {
				has = "it must not be set"
			}
			text := fmt.Sprintf("%s: the configuration sets %s to %q on %s (%s), but while the CA is rotated %s", topology.Rotation{Cluster: c.Target, CA: r.Name}, s.fileFlag, s.value, s.node.Target, s.node.Address, has)
			diags.Append(diag.Errorf("Flag names another file", "%s: otherwise the component would keep the old CA, or would not start, "+
				"since a controller manager cannot sign with a file of two CAs. Remove the flag, or the patch that sets it, from the configuration, apply that, "+
				"and run the same command again. Other CAs in its file are not trusted meanwhile: restore the flag when the rotation is complete, "+
				"with the new CA in that file.", c.Fleet.Config.Secrets.Text(text)).At(s.at).For(c.Target))
		}
	}
	return diags
}
