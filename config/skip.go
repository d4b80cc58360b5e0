package config

import (
	"slices"
	"strings"
)

// skipRule says in which blocks a name in skip_phases is allowed, or why it is refused.
type skipRule struct {
	// cluster and node report which blocks may have it; both are false for a refused name.
	cluster, node bool
	// role is the role whose phase it is, if not every node has it.
	role Role
	// refused says why the phase is not skipped, and what to write instead.
	refused string
	// once reports whether -skip-phase takes a refused name for one command: kubewright has a
	// phase of this name.
	once bool
	// parts are kubeadm's names for parts of the phase.
	parts []string
	// does has the phases that do the work of another one, or of a part; alone says why no part is taken.
	does  map[string][]string
	alone string
}

// OfKubeadm returns what -target and -skip-phase take one of kubeadm's names for: phases, or a part of
// the only one. why says why it is refused; without either, the name is unknown.
func OfKubeadm(name string) (phases []string, part, why string) {
	parent, child, _ := strings.Cut(name, "/")
	rule, known := skipRules[parent]
	if !known || child != "" && !slices.Contains(rule.parts, child) {
		return nil, "", ""
	}
	if child == "all" {
		child = ""
	}
	switch does := rule.does[child]; {
	case does != nil:
		return does, "", ""
	case rule.alone != "":
		return nil, "", rule.alone
	case child == "":
		return []string{parent}, "", ""
	}
	return []string{parent}, name, ""
}

// Phases returns the names for skip_phases with their parts: kubewright's own names, and
// kubeadm's for parts that kubeadm has.
func Phases() map[string][]string {
	out := map[string][]string{}
	for name, rule := range skipRules {
		out[name] = rule.parts
	}
	return out
}

// Reasons that several names share.
const (
	needsAllFiles = "Without it a control plane does not start, or its files expire unnoticed, as they are neither compared nor renewed."
	onlyOnce      = "A plan that passed it over every time would break what it promises."
	noSuchStep    = "kubewright has no step of the kind, so leaving it out would change nothing: take the name out."
)

// skipRules has a rule for each name in skip_phases. A phase may be skipped if the user can do
// its work by other means. The others are needed by later steps, by the guarantees of a plan, or
// by kubeadm and its users on the hosts.
var skipRules = map[string]skipRule{
	"preflight": {cluster: true, node: true},
	"images":    {cluster: true, node: true},
	"addon":     {cluster: true, parts: []string{"all", "coredns", "kube-proxy"}},

	"mark-control-plane": {cluster: true, node: true, role: ControlPlane},
	"mark-worker":        {cluster: true, node: true, role: Worker},

	"prepare": {refused: "It puts our mark on a host before the first change, by which the host is known again and given back as it was. " +
		"For hosts that keep their swap, set failSwapOn = false in kubelet { config }.", once: true},
	"host-files":    {refused: "Components read the files of file blocks, and would not start without them. Take out the blocks whose files are not wanted.", once: true},
	"encryption":    {refused: "API servers would not start without the file of keys, or lose what is encrypted. To end encryption, remove the encryption block.", once: true},
	"install":       {refused: "What is installed is for the install block to say: without one, what is found on the hosts is used.", once: true},
	"certs":         {refused: needsAllFiles + " Certificates of your own are brought by certificates { supplied }.", once: true, parts: []string{"all", "ca", "apiserver", "apiserver-kubelet-client", "front-proxy-ca", "front-proxy-client", "etcd-ca", "etcd-server", "etcd-peer", "etcd-healthcheck-client", "apiserver-etcd-client", "sa"}},
	"kubeconfig":    {refused: needsAllFiles + " Kubeconfigs of your own are brought by certificates { supplied }.", once: true, parts: []string{"all", "admin", "super-admin", "kubelet", "controller-manager", "scheduler"}},
	"etcd":          {refused: "The API server does not start without it. An etcd of your own is etcd { external }.", once: true, parts: []string{"local"}, does: map[string][]string{"local": {"etcd"}}},
	"control-plane": {refused: "It is what a control plane is. A node without one has role = \"worker\".", once: true, parts: []string{"all", "apiserver", "controller-manager", "scheduler"}},
	"kubelet-start": {refused: "A node without a kubelet is none. Leave the node block out.", once: true},
	"kubelet-wait-bootstrap": {refused: "The steps behind it need the node to be there, and the token by which it joins is deleted after. " +
		"How long it waits is timeouts { tls_bootstrap }.", once: true},
	"wait-control-plane": {refused: onlyOnce + " The next control plane is touched only when this one is healthy. " +
		"How long it waits is timeouts { control_plane_component_health_check }.", once: true},
	"upload-config": {refused: "kubeadm itself reads from there what it joins and upgrades with, and would no longer work on this cluster.", once: true, parts: []string{"all", "kubeadm", "kubelet"}},
	"upload-certs":  {refused: "It is left out unless upload_certs = true asks for it. Leave that out.", once: true},
	"bootstrap-token": {refused: "Nodes join, and kubelets get and renew their certificates, by what it makes. " +
		"Tokens of your own that stay are bootstrap_token blocks; others are deleted when the last node has joined.", once: true},
	"kubelet-finalize": {refused: "The first control plane's kubelet would keep a certificate that is never renewed.", once: true, parts: []string{"all", "enable-client-cert-rotation"}, does: map[string][]string{"enable-client-cert-rotation": {"kubelet-finalize"}}},
	"drain":            {refused: onlyOnce + " Pods are evicted before their node is removed. upgrade { drain } configures that.", once: true},
	"reset":            {refused: onlyOnce + " A host that leaves is given back as it was.", once: true},
	"etcd-snapshot":    {refused: onlyOnce + " Before a member of etcd leaves, its data is saved.", once: true},
	"upgrade-pause":    {refused: "It waits as long as upgrade { pause } says. Leave that out.", once: true},
	"token-renewal":    {refused: onlyOnce + " Pods would lose their access to the API while a service account key is replaced.", once: true},

	"show-join-command": {refused: noSuchStep + " Nodes join by being in the configuration.", alone: "Nodes join by being in the configuration: no command is printed."},
	"check-etcd":        {refused: onlyOnce + " No member joins or leaves an etcd that is not healthy.", alone: "It is a gate, which every step holds that changes the members of etcd."},
	"etcd-join":         {refused: "The API server does not start without it. An etcd of your own is etcd { external }.", does: map[string][]string{"": {"etcd"}}},
	"control-plane-prepare": {
		refused: needsAllFiles +
			" Certificates and kubeconfigs of your own are brought by certificates { supplied }.", parts: []string{"all", "download-certs", "certs", "kubeconfig", "control-plane"},
		does:  map[string][]string{"": {"certs", "kubeconfig", "control-plane"}, "certs": {"certs"}, "kubeconfig": {"kubeconfig"}, "control-plane": {"control-plane"}},
		alone: "Keys go from one control plane to another in certs, over SSH, without a download.",
	},
	"control-plane-join": {
		refused: "Of control-plane-join only the marks can be left out: write \"mark-control-plane\".", parts: []string{"all", "etcd", "mark-control-plane"},
		does: map[string][]string{"": {"etcd", "mark-control-plane"}, "etcd": {"etcd"}, "mark-control-plane": {"mark-control-plane"}},
	},
	"remove-etcd-member": {
		refused: onlyOnce + " A member that is gone and still counts costs quorum.",
		alone:   "The member leaves in reset, right before its host is cleaned: either alone leaves a member that counts and does not answer, or one without a node.",
	},
	"cleanup-node": {
		refused: onlyOnce + " A host that leaves is given back as it was.",
		alone:   "A host is cleaned in reset, right after its member has left etcd: either alone leaves a member that counts and does not answer, or one without a node.",
	},
	"kubelet-config":        {refused: "A kubelet would run with other settings than the configuration's. Set them in kubelet { config }.", does: map[string][]string{"": {"kubelet-start"}}},
	"post-upgrade":          {refused: noSuchStep, alone: "An upgrade has no such step: flags that a new kubelet does not know are gone from its file before it starts."},
	"update-cluster-status": {refused: noSuchStep, alone: "No ClusterStatus is stored since Kubernetes 1.22."},
}

// plainPhase returns a name of skip_phases in the form in which phases look it up: a phase with
// all its parts is the phase, and a part in kubeadm's terms that is a phase of kubewright gets
// its name.
func plainPhase(name string) string {
	if name == "control-plane-join/mark-control-plane" {
		return "mark-control-plane"
	}
	return strings.TrimSuffix(name, "/all")
}

// skips reports whether names include a phase, or the phase that it is a part of.
func skips(names []string, phase string) bool {
	whole, _, _ := strings.Cut(phase, "/")
	return slices.ContainsFunc(names, func(name string) bool {
		name = plainPhase(name)
		return name == phase || name == whole
	})
}

// Skips reports whether the cluster's plans skip a phase, or a part of one as PHASE/PART.
func (c *Cluster) Skips(phase string) bool { return skips(c.SkipPhases, phase) }

// Skips reports whether plans skip a phase on the node by its own setting, not its cluster's.
func (n *Node) Skips(phase string) bool { return skips(n.SkipPhases, phase) }

// skippablePhases returns the phases that every plan can skip: on the node, or for the cluster
// if n is nil.
func skippablePhases(n *Node) []string {
	var out []string
	for _, name := range keys(skipRules) {
		rule := skipRules[name]
		if n == nil && rule.cluster || n != nil && rule.node && (rule.role == "" || n.Role == "" || rule.role == n.Role) {
			out = append(out, name)
		}
	}
	return out
}

// skippable refuses a known name that cannot be skipped in every plan. n is nil for a cluster.
func (c checker) skippable(name string, n *Node) {
	const path = "skip_phases"
	plain := plainPhase(name)
	parent, _, _ := strings.Cut(plain, "/")
	switch rule := skipRules[parent]; {
	case rule.refused != "":
		once := ""
		if rule.once && name == parent {
			once = " To leave it out of one plan, give -skip-phase=" + name + " to the command."
		}
		c.errorf(path, "Phase cannot be left out", "skip_phases cannot leave out %q. %s%s", name, rule.refused, once)
	case n != nil && !rule.node:
		c.errorf(path, "Phase is not the node's", "%q is done once for the cluster, so that a node has nothing to leave out. Write it in skip_phases of its cluster.", name)
	case n != nil && rule.role != "" && n.Role != "" && rule.role != n.Role:
		c.errorf(path, "Phase is not the node's", "%q is done on nodes with role = %q alone. Leave it out here.", name, rule.role)
	}
}
