package config

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
)

const (
	servingSummary = "Serving certificate of kubelets is set twice"
	servingRemedy  = "Leave it out, or leave kubelet_serving out of the certificates block and take care of the certificates of all kubelets yourself."
)

// servingFields are the fields of a KubeletConfiguration, and the flags, that decide with which certificate
// a kubelet serves.
var servingFields = []struct{ field, flag, why string }{
	{"serverTLSBootstrap", "rotate-server-certificates", "makes the kubelet request its serving certificate from the cluster, where the request waits for an approval"},
	{"tlsCertFile", "tls-cert-file", "names the certificate that the kubelet serves with"},
	{"tlsPrivateKeyFile", "tls-private-key-file", "names the key that the kubelet serves with"},
}

// reloadGate is the gate by which a kubelet reloads the certificate that it serves with.
const reloadGate = "ReloadKubeletServerCertificateFile"

// kubeletServing checks that nothing but certificates.kubelet_serving decides with which certificates the
// cluster's kubelets serve, and which API servers accept.
func kubeletServing(c checker, cl *Cluster) {
	if !cl.Certificates.KubeletServing {
		return
	}
	servingOf(c, cl.Kubelet, cl.Patches)
	for _, a := range cl.APIServer.Args {
		if componentflag.FlagName("kube-apiserver", a.Name) == "kubelet-certificate-authority" {
			c.errorAt(a.Source, servingSummary, "kubelet_serving in the certificates block sets --kubelet-certificate-authority of API servers, once every node has a certificate that they accept. %s", servingRemedy)
		}
	}
}

// kubeletServingOf is kubeletServing for the settings of a node.
func kubeletServingOf(c checker, n *Node, cl *Cluster) {
	if cl != nil && cl.Certificates.KubeletServing {
		servingOf(c, n.Kubelet, n.Patches)
	}
}

func servingOf(c checker, k Kubelet, patches []Patch) {
	refuse := func(at state.Source, what, why string) {
		c.errorAt(at, servingSummary, "kubelet_serving in the certificates block has kubelets serve with certificates of the cluster's CA, and %s %s. %s", what, why, servingRemedy)
	}
	for _, f := range servingFields {
		if v := k.Config.Get(f.field); !v.IsNull() && !v.Equal(state.Bool(false)) && !v.Equal(state.String("")) {
			refuse(c.at("kubelet.config."+f.field), f.field, f.why)
		}
		for _, a := range k.Args {
			if componentflag.FlagName("kubelet", a.Name) == f.flag && a.Value != "false" && a.Value != "" {
				refuse(a.Source, "--"+f.flag, f.why)
			}
		}
		for _, p := range patches {
			if p.Target == "kubeletconfiguration" && patchSets(p.Content, f.field) {
				refuse(p.Source, fmt.Sprintf("the patch sets %s, which", f.field), f.why)
			}
		}
	}
	if k.Config.Get("featureGates." + reloadGate).Equal(state.Bool(false)) {
		refuse(c.at("kubelet.config.featureGates."+reloadGate), "without "+reloadGate, "they do not load a renewed one until they are restarted")
	}
}

// patchSets reports whether a patch of an object sets a field at its top.
func patchSets(content, field string) bool {
	for doc := range strings.SplitSeq("\n"+content, "\n---") {
		b, err := yaml.YAMLToJSON([]byte(doc))
		var v state.Value
		if err != nil || v.UnmarshalJSON(b) != nil {
			continue // reported
		}
		if v.Kind() == state.KindMap && !v.AsMap()[field].IsNull() {
			return true
		}
		if v.Kind() == state.KindList && slices.ContainsFunc(v.AsList(), func(op state.Value) bool {
			return op.Get("path").AsString() == "/"+field && op.Get("op").AsString() != "remove"
		}) {
			return true
		}
	}
	return false
}
