package phases

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// A CA is rotated in three stages, each of which ends before the next begins:
//
//   - trust-both: a new CA is made beside the old one, and everybody is told of
//     both and has read so.
//   - reissue: what the old one has signed is issued by the new one, also in the
//     kubelets' own files, and nobody signs with the old one any more.
//   - drop-old: everybody is told of the new one alone.
//
// At any moment everybody trusts what anybody shows. Until the last stage the
// first certificate of ca.crt is the old one, and ca.key is its key, so that
// kubeadm, which takes the first for the CA, signs with what everybody trusts.
// What the new CA and the old one are is in files beside it until all is done;
// how far a rotation has come is seen from those and from who has signed what.
// The procedure is that of the Kubernetes documentation, "Manual Rotation of CA
// Certificates".
const (
	trustBoth = "trust-both"
	reissue   = "reissue"
	dropOld   = "drop-old"
	// rotated is the waypoint at which the files of the rotation are taken away.
	rotated = "rotated"
)

// Rotation asks for a CA of a cluster, or its service account keys, to be
// replaced by a new one.
type Rotation struct {
	Cluster state.Target
	// CA is its name: ca, front-proxy-ca or etcd-ca; or service-account for the
	// pair of keys by which tokens are believed.
	CA string
}

// String is the rotation as it is asked for.
func (r Rotation) String() string { return r.Cluster.String() + "/" + r.CA }

// ParseRotation reads cluster.NAME/CA; ok is false for what is written in another way.
func ParseRotation(s string) (r Rotation, ok bool) {
	cluster, ca, ok := strings.Cut(s, "/")
	t, err := state.ParseTarget(cluster)
	return Rotation{t, ca}, ok && err == nil && t.Type == state.TypeCluster
}

// Rotatable are the names of what can be rotated.
func Rotatable() []string { return []string{"ca", "front-proxy-ca", "etcd-ca", serviceAccount} }

// rotation is a CA on its way to its successor.
type rotation struct {
	authority
	// source is the control plane that has the new CA, or is to make it.
	source state.Target
	// old and new are identities; new is empty as long as the CA is to be made.
	old, new string
	// begun tells that the new CA is there, reissuing that it has signed something,
	// and so is trusted by all, dropping that somebody has let go of the old one,
	// and so nothing rests on that.
	begun, reissuing, dropping bool
}

// nextBase is where the new CA lies, without .crt and .key, until it takes the old one's place.
func (a authority) nextBase() string { return nextBase(a.Base) }

func nextBase(base string) string { return base + "-next" }

// oldFile is the old CA's certificate alone.
func (a authority) oldFile() string { return oldFile(a.Base) }

func oldFile(base string) string { return base + "-old.crt" }

// rotationPaths are the files of a rotation, in the order in which they go: the
// last one tells that it is a second copy, and may be taken away.
func (a authority) rotationPaths() []string {
	return []string{a.oldFile(), a.nextBase() + ".key", a.nextBase() + ".crt"}
}

// rotationQuery asks for the files of rotations, and whether the kubelet has
// read its kubeconfig as it is now.
func (c *cluster) rotationQuery(q *state.Query, controlPlane bool) {
	q.Processes = append(q.Processes, kubeletProcess)
	if !controlPlane {
		return
	}
	for _, a := range c.authorities {
		q.Files = append(q.Files, state.FileQuery{Path: a.endedFile(), Read: state.ReadCertificate})
		for _, p := range a.rotationPaths() {
			read := state.ReadCertificate
			if strings.HasSuffix(p, ".key") {
				read = state.ReadStat
			}
			q.Files = append(q.Files, state.FileQuery{Path: p, Read: read})
		}
	}
}

// kubeletProcess is the kubelet's process as kubeadm starts it.
var kubeletProcess = state.Process{Name: "kubelet", Argument: "--kubeconfig=" + kubeletConf}

// casIn are the identities of the certificates in a file on the node's host.
func (n *node) casIn(path string) []string { return casIn(n.report, path) }

func casIn(r *state.Report, path string) []string {
	if r == nil {
		return nil
	}
	f := r.Files[path]
	if f.Kubeconfig != nil {
		return f.Kubeconfig.CAKeyDigests()
	}
	var out []string
	for _, c := range f.Certificates {
		out = append(out, c.KeyDigest)
	}
	return out
}

// requested tells that the rotation of a CA, or of the service account keys, is asked
// for, and not by the command whose rotation is over but for its files, or whose
// replacement of a CA that had ended goes on.
func (c *cluster) requested(name string) bool { return c.asked(name) && !c.tidying() && !c.replacing() }

func (c *cluster) asked(name string) bool {
	return slices.Contains(c.view.Rotate, Rotation{c.target, name})
}

// tidying tells that a rotation is over, and that the apply which took its files away
// was cut short in that: everybody is told of the new CA or key alone, of which some
// control planes still have the second copy. A CA that is given is not rotated once
// more by the same command anyway.
func (c *cluster) tidying() bool {
	if c.seatNode() == nil {
		return false
	}
	planes := slices.DeleteFunc(c.inOrder(), func(n *node) bool { return n.report == nil })
	left := func(told, second func(*node) []string, private string) bool {
		var next []string
		for _, n := range planes {
			if len(next) == 0 {
				next = second(n)
			}
		}
		return len(next) > 0 &&
			!slices.ContainsFunc(planes, func(n *node) bool { return !slices.Equal(told(n), next) }) &&
			slices.ContainsFunc(planes, func(n *node) bool { return len(second(n)) == 0 || !n.report.Files[private].Exists })
	}
	for _, a := range c.authorities {
		if a.custody == made && left(func(n *node) []string { return n.casIn(a.Base + ".crt") }, func(n *node) []string { return n.casIn(a.nextBase() + ".crt") }, a.nextBase()+".key") {
			return true
		}
	}
	keys := c.seatNode().serviceAccountKey()
	return left(func(n *node) []string { return n.publicKeys(keys + ".pub") }, func(n *node) []string { return n.publicKeys(keys + "-next.pub") }, keys+"-next.key")
}

// rotations finds the CAs that are on their way, or are asked to be.
func (c *cluster) rotations() []*rotation {
	if c.founding || c.view.Destroy || c.seatNode() == nil || c.seatNode().report == nil {
		return nil
	}
	var out []*rotation
	for _, a := range c.authorities {
		if _, replaced := c.atOnce[a.Base]; !a.rotatable() || replaced {
			continue
		}
		r := &rotation{authority: a, source: c.seat}
		r.find(c)
		if r.begun && r.toGiven() || c.requested(a.Name) && r.old != "" && r.changes() {
			out = append(out, r)
		}
	}
	return out
}

// rotatable tells that old and new keys are both on the control planes while the
// CA is rotated.
func (a authority) rotatable() bool { return a.custody == made || a.custody == onHosts }

// toGiven tells that the new CA is the one that is given, where one is.
func (r *rotation) toGiven() bool {
	return r.certificate == nil || r.new == state.KeyDigest(r.certificate)
}

// changes tells that the new CA is another one than the old.
func (r *rotation) changes() bool {
	return r.certificate == nil || r.old != state.KeyDigest(r.certificate)
}

// find sees how far the rotation has come.
func (r *rotation) find(c *cluster) {
	order := c.inOrder()
	trusted := func(ca string) bool {
		return slices.ContainsFunc(order, func(n *node) bool { return slices.Contains(n.casIn(r.Base+".crt"), ca) })
	}
	for _, n := range order {
		// A CA that nobody trusts may be anybody's.
		next := n.casIn(r.nextBase() + ".crt")
		if len(next) > 0 && n.report.Files[r.nextBase()+".key"].Exists && trusted(next[0]) && r.standsAt(order[0], n) {
			r.source, r.new, r.begun = n.target, next[0], true
			break
		}
	}
	for _, n := range order {
		for _, path := range []string{r.oldFile(), r.Base + ".crt"} {
			if cas := n.casIn(path); len(cas) > 0 && cas[0] != r.new && r.old == "" {
				r.old = cas[0]
			}
		}
		if cas := n.casIn(r.Base + ".crt"); r.begun && len(cas) > 0 && cas[0] == r.new {
			r.dropping = true
		}
	}
	r.reissuing = r.dropping || r.begun && slices.ContainsFunc(c.nodes, r.signedFor)
}

// standsAt tells that the seat's CA is of the rotation whose files a control plane has: it
// is not when a CA that has ended was replaced at once meanwhile, which begins on the seat.
func (r *rotation) standsAt(seat, n *node) bool {
	at, of := seat.casIn(r.Base+".crt"), slices.Concat(n.casIn(r.oldFile()), n.casIn(r.Base+".crt"), n.casIn(r.nextBase()+".crt"))
	return len(at) == 0 || slices.ContainsFunc(at, func(ca string) bool { return slices.Contains(of, ca) })
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// signedFor tells that the node has something that the new CA has signed.
func (r *rotation) signedFor(n *node) bool {
	if n.report == nil {
		return false
	}
	for path, f := range n.report.Files {
		if path == r.nextBase()+".crt" || path == r.Base+".crt" {
			continue
		}
		if len(f.Certificates) > 0 && f.Certificates[0].IssuerKeyDigest == r.new ||
			f.Kubeconfig != nil && f.Kubeconfig.Client != nil && f.Kubeconfig.Client.IssuerKeyDigest == r.new {
			return true
		}
	}
	return false
}

// rotation is that of the CA with the base path; nil when it is not rotated.
func (c *cluster) rotation(base string) *rotation {
	for _, r := range c.rotating {
		if r.Base == base {
			return r
		}
	}
	return nil
}

// clusterCA is the rotation of the CA for clients and API servers, or nil.
func (c *cluster) clusterCA() *rotation { return c.rotation(c.Certificates.Dir + "/ca") }

// rotates tells that this plan goes on with a rotation. Without the API nobody
// could tell whether all have taken it up; what keeps it down comes first.
func (c *cluster) rotates() bool {
	return (len(c.rotating) > 0 || c.keys.acts()) && c.report != nil
}

// checkRotations refuses a rotation that cannot be begun, and what cannot be
// done while one is under way.
func (v *View) checkRotations() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range v.Rotate {
		if d := v.checkRequest(r); d != nil {
			diags.Append(d)
		}
	}
	for _, c := range v.clusters {
		if len(c.rotating) > 0 || c.keys.acts() {
			diags = append(diags, c.checkRotation()...)
		}
		diags = append(diags, c.checkKeys()...)
	}
	return diags
}

func (v *View) checkRequest(r Rotation) *diag.Diagnostic {
	i := slices.IndexFunc(v.clusters, func(c *cluster) bool { return c.target == r.Cluster })
	if i < 0 {
		return diag.Errorf("Nothing to rotate", "-%s=%s: the configuration has no such cluster.", ReplaceFlag, r)
	}
	c := v.clusters[i]
	if !c.founding && c.tidying() {
		return diag.Warningf("Rotation is over", "-%s=%s: a rotation is complete, and was cut short as it took its files away. This plan does that. To rotate once more, run the same command again when it is done.", ReplaceFlag, r).At(c.Source).For(c.target)
	}
	j := slices.IndexFunc(c.authorities, func(a authority) bool { return a.Name == r.CA })
	if c.replacing() && (j < 0 || c.atOnce[c.authorities[j].Base] == "") {
		return diag.Warningf("Replacement goes on", "-%s=%s: a CA that had ended was replaced by a new one, and that was cut short. This plan goes on with it, and rotates nothing. To rotate once more, run the same command again when it is done.",
			ReplaceFlag, r).At(c.Source).For(c.target)
	}
	switch {
	case j < 0 && r.CA == serviceAccount && !c.founding:
		return nil
	case j < 0 && r.CA == serviceAccount:
		return diag.Errorf("Nothing to rotate", "-%s=%s: the cluster is not there yet.", ReplaceFlag, r).At(c.Source).For(c.target)
	case j < 0 && r.CA == "etcd-ca":
		return diag.Errorf("Nothing to rotate", "-%s=%s: the etcd of this cluster is not ours, and neither is its CA.", ReplaceFlag, r).At(c.Source).For(c.target)
	case j < 0:
		return diag.Errorf("Nothing to rotate", "-%s=%s: there is no such CA. There are %s.", ReplaceFlag, r, strings.Join(Rotatable(), ", ")).At(c.Source).For(c.target)
	case c.founding:
		return diag.Errorf("Nothing to rotate", "-%s=%s: the cluster is not there yet.", ReplaceFlag, r).At(c.Source).For(c.target)
	}
	return c.checkGiven(c.authorities[j], r)
}

// checkGiven refuses to rotate a CA of the operator's, unless another one is given
// whose key may lie on the control planes.
func (c *cluster) checkGiven(a authority, r Rotation) *diag.Diagnostic {
	const summary = "CA is yours"
	at := func(d *diag.Diagnostic) *diag.Diagnostic { return d.At(c.place(a.block)).For(c.target) }
	switch {
	case a.custody == made || c.rotation(a.Base) != nil:
		return nil
	case a.custody == onHosts:
		return at(diag.Errorf(summary, "-%s=%s: the block %s gives the CA %q, with which the cluster signs already, and kubewright does not make another. Nothing is changed. "+
			"Give the certificate and the key of the new CA in that block, with on_hosts = true, and run the same command again.", ReplaceFlag, r, a.block, a.CommonName))
	}
	return at(diag.Errorf(summary, "-%s=%s: the block %s gives the CA %q, whose key is not on the control planes. kubewright rotates CAs whose keys are: while one is rotated "+
		"the cluster signs with the old one and then with the new one by itself. Nothing is changed. To go on using yours beyond its end, have its certificate issued anew for the same key and give that.",
		ReplaceFlag, r, a.block, a.CommonName))
}

// checkRotation looks whether a cluster is as a rotation needs it.
func (c *cluster) checkRotation() diag.Diagnostics {
	if d := c.impure(); d != nil {
		return diag.Diagnostics{d}
	}
	if diags := c.checkFlags(); len(diags) > 0 {
		return diags
	}
	if d := cmp.Or(c.disturbed(), c.unheard()); d != nil {
		return diag.Diagnostics{diag.Errorf("CA is rotated alone", "%s: %s. Nothing is changed. While a CA of a cluster is rotated its nodes, versions and endpoint stay as they are, "+
			"and every node has to be seen: one that has not heard of the new CA would be cut off. %s", strings.Join(c.rotatingNames(), ", "), d.why, d.way).At(c.Source).For(c.target)}
	}
	if d := c.incomplete(); d != nil {
		return diag.Diagnostics{d}
	}
	if c.rotationWaits() {
		return diag.Diagnostics{diag.Warningf("Rotation waits", "%s: the API does not answer, so nobody can tell whether all have taken up the new CA. "+
			"The rotation goes on with the first apply that finds the API.", strings.Join(c.rotatingNames(), ", ")).At(c.Source).For(c.target)}
	}
	if c.report == nil {
		return diag.Diagnostics{diag.Errorf("API does not answer", "%s: a CA is rotated while the API answers, since only that tells whether all have taken up the new one. "+
			"Nothing is changed. Repair the cluster first (%s).", strings.Join(c.rotatingNames(), ", "), c.darkTargets()[0].Reason).At(c.Source).For(c.target)}
	}
	var diags diag.Diagnostics
	for _, d := range []*diag.Diagnostic{c.warnUnready(), c.otherCallers()} {
		if d != nil {
			diags = append(diags, d)
		}
	}
	return diags
}

// impure refuses to begin where more is trusted than the CA: it would be dropped.
func (c *cluster) impure() *diag.Diagnostic {
	for _, r := range c.rotating {
		for _, n := range c.controlPlanes() {
			if cas := n.casIn(r.Base + ".crt"); !r.begun && len(cas) > 1 {
				return diag.Errorf("File trusts several CAs", "%s (%s) has %d certificates in %s.crt. Rotating the CA would leave the new one alone in it. Nothing is changed. "+
					"Leave only the CA with which the cluster signs in that file, on every node, and have the components read it.", n.target, n.Address, len(cas), r.Base).At(n.Source).For(n.target)
			}
		}
	}
	return nil
}

// incomplete refuses to begin where a control plane lacks something that all share: what
// is to take up the new CA there would not come up before the end, when that is brought.
func (c *cluster) incomplete() *diag.Diagnostic {
	if c.rotationBegun() {
		return nil // the stages bring what they need
	}
	for _, n := range c.controlPlanes() {
		var lacks []string
		for _, path := range n.lacks() {
			lacks = append(lacks, n.hasNo(path))
		}
		if len(lacks) > 0 {
			return diag.Errorf("File of a CA is missing", "%s: %s (%s) has %s. Nothing is changed. The file is brought from another control plane by an apply that asks for no rotation; "+
				"run that first, and then the same command again:\n\n  kubewright apply", strings.Join(c.rotatingNames(), ", "), n.target, n.Address, strings.Join(lacks, " and ")).At(n.Source).For(n.target)
		}
	}
	return nil
}

// rotationBegun tells that something of a rotation of this plan was done before.
func (c *cluster) rotationBegun() bool {
	return c.keys.acts() && c.keys.begun || slices.ContainsFunc(c.rotating, func(r *rotation) bool { return r.begun })
}

func (c *cluster) rotatingNames() []string {
	var out []string
	for _, r := range c.rotating {
		out = append(out, Rotation{c.target, r.Name}.String())
	}
	if c.keys.acts() {
		out = append(out, Rotation{c.target, serviceAccount}.String())
	}
	return out
}

// OfRotation tells that a step belongs to a rotation, or takes away what one has left.
// Somebody has asked for it: it answers nothing that was changed outside.
func OfRotation(s planner.Step) bool {
	return slices.Contains([]string{restarted, trustBoth, reissue, dropOld, rotated, replacedCA}, s.ID.Waypoint)
}

// ownRotation takes out of the drift what a rotation that was cut short has changed.
func (v *View) ownRotation(drift []planner.Change) []planner.Change {
	return slices.DeleteFunc(drift, func(ch planner.Change) bool {
		c := v.clusterOf(ch.Address.Target)
		if c == nil || len(c.rotating) == 0 || len(ch.Attributes) == 0 {
			return false
		}
		return !slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return a.Path != "signed_by" && a.Path != "ca" })
	})
}

// sentence is what a plan says of the rotation.
func (r *rotation) sentence(c *cluster) string {
	stage := trustBoth
	switch {
	case r.dropping:
		stage = dropOld
	case r.reissuing:
		stage = reissue
	}
	name := Rotation{c.target, r.Name}.String()
	if !r.begun {
		return name + ": everybody trusts both, the new CA issues what the old one has signed, everybody drops the old one; interrupted, it goes on with the next apply."
	}
	return name + ": has begun, and goes on at " + stage + "."
}

// otherCallers warns of pods that are not ours: nobody here can tell how they
// know API servers.
func (c *cluster) otherCallers() *diag.Diagnostic {
	r := c.clusterCA()
	if r == nil || r.reissuing {
		return nil
	}
	return diag.Warningf("Pods may have to be restarted", "%s: pods that call the API and read the CA only when they start (client-go before 1.36) do not know the new CA until they are started anew. "+
		"Those of this configuration's addons are. For others, stop before the new CA issues anything, restart them, and go on with an ordinary apply:\n\n"+
		"  kubewright apply -%s=%s -exclude=%s@%s", Rotation{c.target, r.Name}, ReplaceFlag, Rotation{c.target, r.Name}, certsPhase, reissue).At(c.Source).For(c.target)
}

// leavesOf are the certificates of a control plane that the CA signs.
func (r *rotation) leavesOf(n *node) []kubeadm.Certificate {
	return slices.DeleteFunc(kubeadm.Leaves(n.input()), func(l kubeadm.Certificate) bool { return l.CA != r.Base })
}

// signer is the new CA.
func (r *rotation) signer() planner.Signer {
	return planner.Signer{Name: r.CAName, Base: r.nextBase(), On: r.source}
}

// restartMark is what pods carry that were started since both CAs are trusted.
func (r *rotation) restartMark() string { return "successor of CA " + short(r.old) }
