package rotation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Rotated is the waypoint at which the files of the rotation are removed.
const Rotated = "rotated"

// ParseRotation parses cluster.NAME/CA; ok is false for any other text.
func ParseRotation(s string) (r topology.Rotation, ok bool) {
	cluster, ca, ok := strings.Cut(s, "/")
	t, err := state.ParseTarget(cluster)
	return topology.Rotation{Cluster: t, CA: ca}, ok && err == nil && t.Type == state.TypeCluster
}

// Rotatable returns the names of what can be rotated.
func Rotatable() []string { return []string{"ca", "front-proxy-ca", "etcd-ca", serviceAccount} }

// requested reports whether the rotation of a CA, or of the service account keys, is requested. A
// repetition of the command does not count while only the files of its rotation remain to be
// removed, or while its replacement of an expired CA continues.
func requested(c *topology.Cluster, name string) bool {
	return asked(c, name) && !tidying(c) && !replacing(c)
}

func asked(c *topology.Cluster, name string) bool {
	return slices.Contains(c.Fleet.Rotate, topology.Rotation{Cluster: c.Target, CA: name})
}

// tidying reports whether a rotation is complete and the apply that removed its files was
// interrupted: all components use only the new CA or key, of which some control planes still have
// the second copy. For a given CA the same command does not rotate again anyway.
func tidying(c *topology.Cluster) bool {
	if c.PrimaryNode() == nil {
		return false
	}
	planes := slices.DeleteFunc(etcd.PrimaryFirst(c), func(n *topology.Node) bool { return n.Report == nil })
	return tokenPair(c.PrimaryNode().ServiceAccountKey()).tidying(planes) ||
		slices.ContainsFunc(c.Authorities, func(a topology.CA) bool { return a.KeyLocation == topology.Made && caPair(a.Base).tidying(planes) })
}

// Rotations returns the CAs whose rotation has begun or is requested.
func Rotations(c *topology.Cluster) []*topology.CARotation {
	if c.Founding || c.Fleet.Destroy || c.PrimaryNode() == nil || c.PrimaryNode().Report == nil {
		return nil
	}
	var out []*topology.CARotation
	for _, a := range c.Authorities {
		if _, replaced := c.AtOnce[a.Base]; !rotatable(a) || replaced {
			continue
		}
		r := caProgress(c, a)
		if r.Begun && toGiven(r) || requested(c, a.Name) && r.Old != "" && changes(r) {
			out = append(out, r)
		}
	}
	return out
}

// rotatable reports whether the old and the new key are both on the control planes during a
// rotation of the CA.
func rotatable(a topology.CA) bool {
	return a.KeyLocation == topology.Made || a.KeyLocation == topology.OnHosts
}

// toGiven reports whether the new CA is the one in the configuration, if that has one.
func toGiven(r *topology.CARotation) bool {
	return r.X509 == nil || r.New == state.KeyDigest(r.X509)
}

// changes reports whether the new CA differs from the old one.
func changes(r *topology.CARotation) bool {
	return r.X509 == nil || r.Old != state.KeyDigest(r.X509)
}

// caProgress returns the rotation of a CA as far as hosts show it.
func caProgress(c *topology.Cluster, a topology.CA) *topology.CARotation {
	r, order := &topology.CARotation{CA: a, Source: c.Primary}, etcd.PrimaryFirst(c)
	source, was, is := caPair(a.Base).progress(order, func(n *topology.Node) bool { return standsAt(r, order[0], n) })
	r.Old, r.New, r.Begun = was, is, source != nil
	if r.Begun {
		r.Source = source.Target
	}
	r.Dropping = r.Begun && slices.ContainsFunc(order, func(n *topology.Node) bool { return slices.Index(n.CADigestsIn(r.Base+".crt"), r.New) == 0 })
	r.Reissuing = r.Dropping || r.Begun && slices.ContainsFunc(c.Nodes, func(n *topology.Node) bool { return signedFor(r, n) })
	return r
}

// standsAt reports whether the primary's CA belongs to the rotation whose files a control plane
// has: it does not if an expired CA was replaced at once in the meantime, which begins on the
// primary.
func standsAt(r *topology.CARotation, primary, n *topology.Node) bool {
	at, of := primary.CADigestsIn(r.Base+".crt"), slices.Concat(n.CADigestsIn(r.OldFile()), n.CADigestsIn(r.Base+".crt"), n.CADigestsIn(r.NextBase()+".crt"))
	return len(at) == 0 || slices.ContainsFunc(at, func(ca string) bool { return slices.Contains(of, ca) })
}

// signedFor reports whether the node has a certificate that the new CA has signed.
func signedFor(r *topology.CARotation, n *topology.Node) bool {
	if n.Report == nil {
		return false
	}
	for path, f := range n.Report.Files {
		if path == r.NextBase()+".crt" || path == r.Base+".crt" {
			continue
		}
		if len(f.Certificates) > 0 && f.Certificates[0].IssuerKeyDigest == r.New ||
			f.Kubeconfig != nil && f.Kubeconfig.Client != nil && f.Kubeconfig.Client.IssuerKeyDigest == r.New {
			return true
		}
	}
	return false
}

// CheckRotations refuses a rotation that cannot begin, and changes that cannot be made during one.
func CheckRotations(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range v.Rotate {
		if d := checkRequest(v, r); d != nil {
			diags.Append(d)
		}
	}
	for _, c := range v.Clusters {
		if len(c.Rotating) > 0 || c.Keys.Acts() {
			diags = append(diags, checkRotation(c)...)
		}
		diags = append(diags, checkKeys(c)...)
	}
	return diags
}

func checkRequest(v *topology.Fleet, r topology.Rotation) *diag.Diagnostic {
	i := slices.IndexFunc(v.Clusters, func(c *topology.Cluster) bool { return c.Target == r.Cluster })
	if i < 0 {
		return diag.Errorf("Nothing to rotate", "%s: the configuration has no such cluster.", remedy.Rotate.Of(r))
	}
	c := v.Clusters[i]
	if !c.Founding && tidying(c) {
		return diag.Warningf("Rotation is already complete", "%s: an earlier rotation is complete, but was interrupted before its files were removed. "+
			"This plan removes them. To rotate again, run the same command when that is done.", remedy.Rotate.Of(r)).At(c.Source).For(c.Target)
	}
	j := slices.IndexFunc(c.Authorities, func(a topology.CA) bool { return a.Name == r.CA })
	if replacing(c) && (j < 0 || c.AtOnce[c.Authorities[j].Base] == "") {
		return diag.Warningf("Replacement of an expired CA continues", "%s: the replacement of an expired CA was interrupted. This plan continues it, and rotates nothing. "+
			"To rotate again, run the same command when that is done.",
			remedy.Rotate.Of(r)).At(c.Source).For(c.Target)
	}
	why := ""
	switch {
	case c.Founding && (j >= 0 || r.CA == serviceAccount):
		why = "the cluster does not exist yet."
	case j >= 0:
		return checkGiven(c, c.Authorities[j], r)
	case r.CA == serviceAccount:
		return nil
	case r.CA == "etcd-ca":
		why = "the etcd of this cluster is external, and so is its CA."
	default:
		why = "there is no such CA. There are " + strings.Join(Rotatable(), ", ") + "."
	}
	return diag.Errorf("Nothing to rotate", "%s: %s", remedy.Rotate.Of(r), why).At(c.Source).For(c.Target)
}

// checkGiven refuses to rotate an operator's CA, unless another one is given whose key may be on
// the control planes.
func checkGiven(c *topology.Cluster, a topology.CA, r topology.Rotation) *diag.Diagnostic {
	const summary = "CA is managed outside kubewright"
	at := func(d *diag.Diagnostic) *diag.Diagnostic { return d.At(pki.Place(c, a.Block)).For(c.Target) }
	switch {
	case a.KeyLocation == topology.Made || c.Rotation(a.Base) != nil:
		return nil
	case a.KeyLocation == topology.OnHosts:
		return at(diag.Errorf(summary, "%s: the block %s provides the CA %q, with which the cluster signs already, and kubewright does not create another. "+
			"Provide the certificate and the key of the new CA in that block, with on_hosts = true, and run the same command again.", remedy.Rotate.Of(r), a.Block, a.CommonName))
	}
	return at(diag.Errorf(summary, "%s: the block %s provides the CA %q, whose key is not on the control planes. "+
		"kubewright rotates only CAs whose keys are there: during a rotation the cluster itself signs with the old key and then with the new one. "+
		"To keep using this CA after it expires, have its certificate reissued for the same key and provide that.",
		remedy.Rotate.Of(r), a.Block, a.CommonName))
}

// checkRotation checks that a cluster is in the condition that a rotation needs.
func checkRotation(c *topology.Cluster) diag.Diagnostics {
	if d := impure(c); d != nil {
		return diag.Diagnostics{d}
	}
	if diags := checkFlags(c); len(diags) > 0 {
		return diags
	}
	if d := cmp.Or(disturbed(c), unheard(c)); d != nil {
		return diag.Diagnostics{diag.Errorf("CA rotation cannot be combined with other changes", "%s: %s. While a CA of a cluster is rotated, its nodes, versions and endpoint stay as they "+
			"are, and every node must be observed: one that does not receive the new CA would be cut off. %s", strings.Join(rotatingNames(c), ", "), d.why, d.way).At(c.Source).For(c.Target)}
	}
	if d := incomplete(c); d != nil {
		return diag.Diagnostics{d}
	}
	if RotationWaits(c) {
		return diag.Diagnostics{diag.Warningf("Rotation is paused", "%s: the API does not answer, so it is unknown whether all components have loaded the new CA. "+
			"The rotation continues with the first apply that reaches the API.", strings.Join(rotatingNames(c), ", ")).At(c.Source).For(c.Target)}
	}
	if c.Report == nil {
		return diag.Diagnostics{diag.Errorf("API does not answer", "%s: a CA is rotated only while the API answers, since only the API shows whether all "+
			"components have loaded the new one. Repair the cluster first (%s).", strings.Join(rotatingNames(c), ", "), observe.DarkTargets(c)[0].Reason).At(c.Source).For(c.Target)}
	}
	var diags diag.Diagnostics
	for _, d := range []*diag.Diagnostic{warnUnready(c), otherCallers(c)} {
		if d != nil {
			diags = append(diags, d)
		}
	}
	return diags
}

// impure refuses to begin while the CA file has further CAs: they would be dropped.
func impure(c *topology.Cluster) *diag.Diagnostic {
	for _, r := range c.Rotating {
		for _, n := range c.ControlPlanes() {
			if cas := n.CADigestsIn(r.Base + ".crt"); !r.Begun && len(cas) > 1 {
				return diag.Errorf("CA file has several CAs", "%s (%s) has %d certificates in %s.crt. A rotation would leave only the new CA in it. "+
					"Keep only the CA with which the cluster signs in that file, on every node, and have the components reload it.", n.Target, n.Address, len(cas), r.Base).At(n.Source).For(n.Target)
			}
		}
	}
	return nil
}

// incomplete refuses to begin while a control plane lacks a shared file: components that have to
// pick up the new CA there would not come up until the file is copied, which happens after the
// rotation.
func incomplete(c *topology.Cluster) *diag.Diagnostic {
	if staticpod.RotationBegun(c) {
		return nil // the stages bring what they need
	}
	for _, n := range c.ControlPlanes() {
		var lacks []string
		for _, path := range pki.MissingKeyFiles(n) {
			lacks = append(lacks, pki.HasNo(n, path))
		}
		if len(lacks) > 0 {
			return diag.Errorf("PKI file is missing", "%s: %s (%s) has %s. An apply that requests no rotation copies the file from another control plane; "+
				"run that first, and then the same command again:\n\n  %s", strings.Join(rotatingNames(c), ", "), n.Target, n.Address, strings.Join(lacks, " and "), remedy.Apply).At(n.Source).For(n.Target)
		}
	}
	return nil
}

func rotatingNames(c *topology.Cluster) []string {
	var out []string
	for _, r := range c.Rotating {
		out = append(out, topology.Rotation{Cluster: c.Target, CA: r.Name}.String())
	}
	if c.Keys.Acts() {
		out = append(out, topology.Rotation{Cluster: c.Target, CA: serviceAccount}.String())
	}
	return out
}

// OfRotation reports whether a step belongs to a rotation, or removes what one has left. The user
// requested it: it is no reaction to drift.
func OfRotation(s planner.Step) bool {
	return slices.Contains([]string{restarted, topology.TrustBoth, topology.Reissue, topology.DropOld, Rotated, replacedCA}, s.ID.Waypoint)
}

// cARotationSentence returns the plan's sentence about the rotation, once its steps are in the draft.
func cARotationSentence(b *topology.Builder, r *topology.CARotation, c *topology.Cluster) string {
	name := topology.Rotation{Cluster: c.Target, CA: r.Name}.String()
	if !r.Begun {
		return name + ": all components trust both, the new CA issues what the old one has signed, then the old one is dropped everywhere; if interrupted, " +
			"it continues with the next apply." + otherKubeconfigs(r, c)
	}
	return name + ": in progress, continues at " + continuesAt(b, r, c) + "." + otherKubeconfigs(r, c)
}

// continuesAt returns the first stage of which the draft has steps, from the one that the rotation has
// begun: an apply that was interrupted between two stages has left nothing to do in the first.
func continuesAt(b *topology.Builder, r *topology.CARotation, c *topology.Cluster) string {
	stages := []string{topology.TrustBoth, topology.Reissue, topology.DropOld, Rotated}
	switch {
	case r.Dropping:
		stages = stages[2:]
	case r.Reissuing:
		stages = stages[1:]
	}
	for _, stage := range stages {
		if slices.ContainsFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID.Waypoint == stage && has(c, s.ID.Target) }) {
			return stage
		}
	}
	return stages[0]
}

// otherKubeconfigs returns the sentences of a plan about the kubeconfigs that people and programs have
// elsewhere: from which stage on they fail.
func otherKubeconfigs(r *topology.CARotation, c *topology.Cluster) string {
	if r != c.ClusterCA() {
		return ""
	}
	signed := fmt.Sprintf("those with a client certificate of the old CA at %s@%s", topology.CertsPhase, topology.DropOld)
	if !r.Reissuing {
		signed = fmt.Sprintf("those that trust the old CA alone at %s@%s, ", topology.CertsPhase, topology.Reissue) + signed
	}
	return " Kubeconfigs outside of the nodes stop working: " + signed + ". Fetch or issue them again after this apply."
}

// otherCallers warns of unmanaged pods: it is unknown how they read the CA of API servers.
func otherCallers(c *topology.Cluster) *diag.Diagnostic {
	r := c.ClusterCA()
	if r == nil || r.Reissuing {
		return nil
	}
	return diag.Warningf("Pods may need a restart", "%s: pods that call the API and read the CA only when they start (client-go before 1.36) do not trust "+
		"the new CA until they are restarted. Pods of this configuration's addons are restarted by the rotation. "+
		"For others, stop before the new CA issues anything, restart them, and continue with an ordinary apply:\n\n  %s",
		topology.Rotation{Cluster: c.Target, CA: r.Name}, remedy.Apply.With(remedy.Rotate.Of(topology.Rotation{Cluster: c.Target, CA: r.Name}), remedy.Option{Kind: remedy.Except, Value: topology.CertsPhase + "@" + topology.Reissue})).At(c.Source).For(c.Target)
}

// leavesOf returns the certificates of a control plane that the CA signs.
func leavesOf(r *topology.CARotation, n *topology.Node) []kubeadm.Certificate {
	return slices.DeleteFunc(kubeadm.Leaves(n.Input()), func(l kubeadm.Certificate) bool { return l.CA != r.Base })
}

// signer returns the new CA as signer.
func signer(r *topology.CARotation) planner.Signer {
	return planner.Signer{Name: r.CAName, Base: r.NextBase(), On: r.Source}
}

// restartMark returns the mark of pods that were started after both CAs were trusted.
func restartMark(r *topology.CARotation) string { return "successor of CA " + topology.Short(r.Old) }
