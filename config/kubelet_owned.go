package config

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kubewright/kubewright/state"
)

// Files and folders of the kubelet that kubewright writes, at kubeadm's paths.
const (
	kubeletFolder       = "/var/lib/kubelet"
	kubeletCertificates = kubeletFolder + "/pki"
	kubeletConfigFile   = kubeletFolder + "/config.yaml"
	staticPods          = "/etc/kubernetes/manifests"
)

// ownedFlag is a kubelet flag whose value the user cannot choose: the flag takes precedence
// over the file that kubewright writes, so that the node would contradict it.
type ownedFlag struct {
	summary string
	// allows reports whether a value changes nothing.
	allows func(value string) bool
	// why says what the flag would do, and what to write instead.
	why string
}

// ownedFlags are all owned flags. Other flags do not break the node, or their values are
// checked.
var ownedFlags = map[string]ownedFlag{
	"hostname-override":          {"Node name as an argument", never, "The name of a node is its attribute name; from that the argument is made."},
	"container-runtime-endpoint": {"Socket as an argument", never, "The socket of the container runtime is the node's attribute cri_socket."},
	"cert-dir": {"Folder of certificates as an argument", atPath(kubeletCertificates), "A kubelet's certificates are looked for in " + kubeletCertificates + ", and a kubelet that keeps them elsewhere would be waited for in vain. Leave cert-dir out; for another disk, mount it there. " +
		"For a kubelet that runs with it, move the files there first, create the link kubelet-client-current.pem again, and name that in /etc/kubernetes/kubelet.conf."},
	"root-dir":             {"Folder of the kubelet as an argument", atPath(kubeletFolder), "The kubelet's files are written to and removed from " + kubeletFolder + ", and the volumes of pods that run are there. Leave root-dir out; for another disk, mount it there."},
	"pod-manifest-path":    {"Folder of static pods as an argument", atPath(staticPods), "The control plane runs from " + staticPods + "; a kubelet that looks elsewhere stops it. Leave pod-manifest-path out, and put static pods of your own into that folder."},
	"config":               {"Configuration file as an argument", atPath(kubeletConfigFile), "The kubelet's configuration is written to " + kubeletConfigFile + ". Leave config out, and write the fields in kubelet { config = { … } }."},
	"config-dir":           {"Configuration folder as an argument", func(v string) bool { return v == "" }, "What lies in that folder comes before the configuration that is written to " + kubeletConfigFile + ", and no plan shows it. Leave config-dir out, and write the fields in kubelet { config = { … } }, or for one node in a patch of kubeletconfiguration."},
	"kubeconfig":           {"Kubeconfig as an argument", atPath("/etc/kubernetes/kubelet.conf"), "The kubelet's access to the cluster is written to /etc/kubernetes/kubelet.conf. With another file the node does not join, or leaves this cluster. Leave kubeconfig out."},
	"bootstrap-kubeconfig": {"Kubeconfig as an argument", atPath("/etc/kubernetes/bootstrap-kubelet.conf"), "The access with which a kubelet joins is written to /etc/kubernetes/bootstrap-kubelet.conf. With another file the node does not join. Leave bootstrap-kubeconfig out."},
	"rotate-certificates":  {"Certificates are not renewed", always(true), "A kubelet that does not rotate its certificate loses the cluster when that expires. Leave rotate-certificates out."},
	"register-node":        {"Node is not registered", always(true), "A node that does not register is no node of the cluster, and would be waited for in vain. Leave register-node out; to keep pods away, write taints in the node block."},
	"runonce":              {"Kubelet ends", always(false), "With runonce the kubelet starts static pods and ends. Leave it out."},
	"version":              {"Kubelet ends", always(false), "With version the kubelet prints its version and ends. Leave it out."},
	"help":                 {"Kubelet ends", never, "With help the kubelet prints its flags and ends. Leave it out."},
	"healthz-bind-address": {"Health check as an argument", never, "The kubelet's health check is asked where its configuration file says. Write healthzBindAddress in kubelet { config = { … } }."},
	"healthz-port":         {"Health check as an argument", never, "The kubelet's health check is asked where its configuration file says. Write healthzPort in kubelet { config = { … } }."},
	"cgroup-driver":        {"Field belongs elsewhere", never, "The driver must be that of the container runtime, and the flag comes before the field that says it. Write cgroupDriver in kubelet { config = { … } }."},
	"cloud-provider":       {"Cloud provider does not exist", func(v string) bool { return v == "" || v == "external" }, "Cloud providers inside of the kubelet were removed in Kubernetes 1.31, and it does not start with any. Write \"external\" and install the provider's cloud controller manager, or leave cloud-provider out."},
}

func never(string) bool { return false }

// atPath allows one path.
func atPath(want string) func(string) bool {
	return func(v string) bool { return path.Clean(v) == want }
}

// always allows one boolean; the check of the flag's type refuses other text.
func always(want bool) func(string) bool {
	return func(v string) bool {
		b, err := strconv.ParseBool(v)
		return err != nil || b == want
	}
}

// ofNode refuses kubelet arguments that kubewright sets, and characters that do not reach the
// kubelet.
func (c checker) ofNode(path, flag, value string) {
	if owned, ok := ownedFlags[flag]; ok && !owned.allows(value) {
		c.errorf("", owned.summary, "%s", owned.why)
	}
	c.oneWord(path, "--"+flag, value)
}

// oneWord refuses characters that systemd changes in a kubelet argument: it splits
// kubeadm-flags.env at blanks into the words of the command line, and removes quotes and
// backslashes.
func (c checker) oneWord(path, what, value string) {
	i := strings.IndexFunc(value, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`"'\`, r) || !strconv.IsPrint(r)
	})
	if i < 0 || strings.ContainsAny(value, "\n\x00") { // those are refused everywhere
		return
	}
	found := "the character " + strconv.QuoteRune([]rune(value[i:])[0])
	switch value[i] {
	case ' ':
		found = "a blank"
	case '\t':
		found = "a tab"
	case '"', '\'':
		found = "a quote"
	case '\\':
		found = "a backslash"
	}
	c.errorf(path, "Invalid argument value", "%s of %s holds %s. systemd splits the kubelet's arguments into words at blanks and takes quotes and backslashes out, so that the kubelet would be given something else. Write the value without it. What needs it can be a field of kubelet { config = { … } }, if there is one.", c.show(path, value), what, found)
}

// ownedFields are the fields of the kubelet's configuration that kubewright sets, with the
// values that they keep.
var ownedFields = map[string]struct {
	keeps func(state.Value) bool
	// mayGo reports whether the kubelet has the same value without the field.
	mayGo bool
	why   string
}{
	"staticPodPath": {
		keeps: func(v state.Value) bool { return path.Clean(v.AsString()) == staticPods },
		why:   "The control plane runs from " + staticPods + "; a kubelet that looks elsewhere would not start it. Remove staticPodPath.",
	},
	"containerRuntimeEndpoint": {
		keeps: func(v state.Value) bool { return v.AsString() == "" }, mayGo: true,
		why: "The socket of the container runtime is a matter of each node. Write cri_socket in the node block.",
	},
	"rotateCertificates": {
		keeps: func(v state.Value) bool { return v.Kind() == state.KindBool && v.AsBool() },
		why:   "A kubelet that does not rotate its certificate loses the cluster when that expires. Leave rotateCertificates as it is.",
	},
	"registerNode": {
		keeps: func(v state.Value) bool { return v.Kind() == state.KindBool && v.AsBool() }, mayGo: true,
		why: "A node that does not register is no node of the cluster, and would be waited for in vain. Leave registerNode out.",
	},
}

// ownedPatch refuses a patch of the kubelet's configuration that changes a field kubewright
// sets.
func (c checker) ownedPatch(p Patch, v state.Value) {
	refuse := func(field string) {
		c.errorAt(p.Source, "Field belongs elsewhere", "The patch changes %s. %s", field, ownedFields[field].why)
	}
	for _, field := range keys(ownedFields) {
		owned := ownedFields[field]
		given, set := v.AsMap()[field]
		if v.Kind() == state.KindMap && set && (given.IsNull() && !owned.mayGo || !given.IsNull() && !owned.keeps(given)) {
			refuse(field)
		}
		if v.Kind() == state.KindList && slices.ContainsFunc(v.AsList(), func(op state.Value) bool { return changes(op, field, owned.keeps, owned.mayGo) }) {
			refuse(field)
		}
	}
}

// changes reports whether an operation of a JSON patch gives a top-level field another value
// than it keeps.
func changes(op state.Value, field string, keeps func(state.Value) bool, mayGo bool) bool {
	at := op.Get("path").AsString() == "/"+field
	switch op.Get("op").AsString() {
	case "add", "replace":
		return at && !keeps(op.Get("value"))
	case "remove":
		return at && !mayGo
	case "move":
		return at || op.Get("from").AsString() == "/"+field && !mayGo
	case "copy":
		return at
	}
	return false
}
