package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// A CA that has ended is replaced at once: nobody trusts anything that it has
// signed any more, so there is no trust to keep while a new one is made known.
// Everything goes over SSH, as when all certificates have ended: the new CA takes
// the old one's place on the first control plane, and what the old one has signed
// counts as due, on every host. Cut short, it goes on by itself, since nothing
// then fits to the CA that is there; that it goes on, and that the cluster has not been told,
// shows by the old CA's certificate, which is kept until then. The front proxy's CA is
// another matter: without it the API answers, so it is rotated as if it had not ended.

// replacedCA is the waypoint at which the cluster is told of a CA that was replaced at once.
const replacedCA = "replaced"

// ended tells that the CA is not valid any more, as it is on the seat.
func (c *cluster) ended(a authority) bool {
	ca := c.present(a)
	return ca != nil && hasEnded(*ca, c.view.ObservedAt)
}

// present is the CA as it is on the seat; nil when it is not there.
func (c *cluster) present(a authority) *state.CertificateInfo {
	seat := c.seatNode()
	if seat == nil || seat.report == nil {
		return nil
	}
	return c.inForce(a.Base+".crt", seat.report.Files[a.Base+".crt"].Certificates)
}

// inForce is the certificate that counts of those in a file: the first, and while a CA
// is rotated the new one behind it, as soon as what most control planes show is of that.
// Then the API answers and etcd has its quorum, also when the old one has ended.
func (c *cluster) inForce(path string, certs []state.CertificateInfo) *state.CertificateInfo {
	if len(certs) == 0 {
		return nil
	}
	for i := range certs[1:] {
		if next := &certs[i+1]; c.mostlyBelow(path, next.KeyDigest) {
			return next
		}
	}
	return &certs[0]
}

// mostlyBelow tells that most control planes have all that the CA of a file signs from
// the one with this identity.
func (c *cluster) mostlyBelow(path, ca string) bool {
	planes, below := c.controlPlanes(), 0
	for _, n := range planes {
		if n.report == nil {
			continue
		}
		leaves := slices.DeleteFunc(kubeadm.Leaves(n.input()), func(l kubeadm.Certificate) bool { return l.CA+".crt" != path })
		other := slices.ContainsFunc(leaves, func(l kubeadm.Certificate) bool {
			certs := n.report.Files[l.Base+".crt"].Certificates
			return len(certs) == 0 || certs[0].IssuerKeyDigest != ca
		})
		if len(leaves) > 0 && !other {
			below++
		}
	}
	return 2*below > len(planes)
}

// carries tells that the API does not answer without the CA.
func (a authority) carries() bool { return a.Name != "front-proxy-ca" }

// endedCAs are the identities of the CAs that are replaced at once, by base path;
// none when what has ended keeps nobody from answering.
func (c *cluster) endedCAs() map[string]string {
	if c.founding || c.view.Destroy {
		return nil
	}
	out, carries := map[string]string{}, false
	for _, a := range c.authorities {
		if a.custody == made && c.asked(a.Name) && !c.tidying() && c.ended(a) {
			out[a.Base] = c.cas[a.Base]
			carries = carries || a.carries()
		}
	}
	if !carries {
		return nil
	}
	return out
}

// replacesAtOnce tells that CAs which have ended are replaced in this plan.
func (c *cluster) replacesAtOnce() bool { return len(c.atOnce) > 0 }

// lost tells that who has signed something is a CA that is being replaced, or was about to
// take its place in a rotation that was cut short: neither is trusted when that is done.
func (c *cluster) lost(issuer string) bool {
	for base := range c.atOnce {
		if issuer != "" && slices.Contains(c.seatNode().casIn(base+".crt"), issuer) {
			return true
		}
	}
	return false
}

// overtaken are the operations that take away the files of a rotation which had begun
// when its CA was replaced at once: the next rotation would go on with them.
func (n *node) overtaken(w work) []planner.Operation {
	var ops []planner.Operation
	for _, a := range n.cluster.authorities {
		next := n.casIn(a.nextBase() + ".crt")
		if a.custody != made || !w.touches(a.Base) || n.cluster.rotation(a.Base) != nil || len(next) == 0 || !slices.Contains(n.casIn(a.Base+".crt"), next[0]) {
			continue // what nobody has trusted may be anybody's
		}
		for _, path := range a.rotationPaths() {
			ops = append(ops, planner.RemovePath{Path: path})
		}
	}
	return ops
}

// withLost makes what a CA has signed that is replaced at once due, with the CA.
func (n *node) withLost(attrs state.Value, f state.FileReport) state.Value {
	if !n.cluster.replacesAtOnce() || attrs.Get(planner.RenewalDue).IsNull() {
		return attrs
	}
	var cert *state.CertificateInfo
	switch {
	case f.Kubeconfig != nil:
		cert = f.Kubeconfig.Client
	case len(f.Certificates) > 0:
		cert = &f.Certificates[0]
	}
	if cert == nil || !n.cluster.lost(cert.IssuerKeyDigest) {
		return attrs
	}
	m := map[string]state.Value{}
	for k, v := range attrs.AsMap() {
		m[k] = v
	}
	m[planner.RenewalDue] = state.Bool(true)
	return state.Map(m)
}

// withLost is that of the item's node.
func (v *View) withLost(it *state.Item, attrs state.Value, f state.FileReport) state.Value {
	if n := v.find(it.Address.Target); n != nil {
		return n.withLost(attrs, f)
	}
	return attrs
}

// stranger tells that a CA was replaced, and that this was cut short before the node's kubelet:
// its certificate is signed by the CA that has ended, or by nobody whom the seat trusts and
// the API does not know the node to be well.
func (n *node) stranger() bool {
	c := n.cluster
	seat := c.seatNode()
	certs := n.report.Files[kubeletClientCert].Certificates
	if seat == nil || seat.report == nil || len(certs) == 0 || c.founding {
		return false
	}
	trusted := seat.casIn(c.caFile())
	if len(trusted) == 0 || slices.Contains(trusted, certs[0].IssuerKeyDigest) {
		return false
	}
	return c.report == nil || !c.report.Nodes[n.name].Ready || certs[0].IssuerKeyDigest == c.leftEnded()[c.caBase()]
}

// blind tells that members of etcd restart to trust another CA while nobody
// answers: none of them can be well before all have done so, so that none is
// waited for; the API servers behind them are.
func (n *node) blind(phase string, restarted []string) bool {
	return phase == etcdPhase && n.cluster.report == nil && slices.Contains(restarted, "etcd")
}

// checkEnded speaks of a CA that kubewright has made and that has ended.
func (c *cluster) checkEnded(a authority, ca state.CertificateInfo) *diag.Diagnostic {
	at := c.place("certificates.ca_validity")
	if _, ok := c.atOnce[a.Base]; ok {
		return diag.Warningf("CA is replaced at once", "The CA %q (%s.crt) was valid until %s, and nobody trusts what it has signed. It is replaced by a new one over SSH alone, and with it everything below it; "+
			"the API answers again when that is done. Kubeconfigs that were made by hand end with it, and pods that are not of this configuration's addons have to be restarted.", ca.CommonName, a.Base, date(ca.NotAfter)).At(at).For(c.target)
	}
	if c.rotation(a.Base) != nil && c.rotates() {
		return nil // the front proxy's
	}
	flags, carries := c.endedFlags()
	if !carries {
		return c.warnEndedProxy(a, ca)
	}
	return diag.Errorf("CA certificate has expired", "The CA %q (%s.crt) was valid until %s. Nothing below it is trusted any more. Nothing is changed. "+
		"Replace it by a new one; that works over SSH and needs no API:\n\n  kubewright apply %s",
		ca.CommonName, a.Base, date(ca.NotAfter), strings.Join(flags, " ")).At(at).For(c.target)
}

// endedFlags ask for all CAs of ours that have ended to be replaced; carries tells
// that one of them keeps the API from answering.
func (c *cluster) endedFlags() (flags []string, carries bool) {
	for _, a := range c.authorities {
		if a.custody == made && c.ended(a) {
			flags = append(flags, "-"+ReplaceFlag+"="+Rotation{c.target, a.Name}.String())
			carries = carries || a.carries()
		}
	}
	return flags, carries
}

// warnEndedProxy speaks of the front proxy's CA when it alone has ended. It refuses
// nothing: the rotation needs an API that answers, every node, and a plan of its
// own, and what keeps one of these away has to be put right before.
func (c *cluster) warnEndedProxy(a authority, ca state.CertificateInfo) *diag.Diagnostic {
	return diag.Warningf("CA certificate has expired", "The CA %q (%s.crt) was valid until %s. API servers answer without it, but what serves further APIs behind them, such as metrics.k8s.io, "+
		"does not trust what it has signed. Rotate it, while the API answers, by a plan in which nodes and versions stay as they are:\n\n  kubewright apply -%s=%s",
		ca.CommonName, a.Base, date(ca.NotAfter), ReplaceFlag, Rotation{c.target, a.Name}).At(c.place("certificates.ca_validity")).For(c.target)
}

// endedFile is where the certificate of a CA that was replaced at once is kept until
// that is done.
func (a authority) endedFile() string { return endedFile(a.Base) }

func endedFile(base string) string { return base + "-ended.crt" }

// leftEnded are the identities of the CAs that an earlier apply has replaced at once, by
// base path, when that was cut short.
func (c *cluster) leftEnded() map[string]string {
	seat := c.seatNode()
	if c.founding || c.view.Destroy || seat == nil {
		return nil
	}
	out := map[string]string{}
	for _, a := range c.authorities {
		ended, now := seat.casIn(a.endedFile()), seat.casIn(a.Base+".crt")
		if len(ended) > 0 && (len(now) == 0 || now[0] != ended[0]) {
			out[a.Base] = ended[0]
		}
	}
	return out
}

// replacing tells that there are such: the command that asked for it goes on, and asks
// for no other one.
func (c *cluster) replacing() bool { return len(c.leftEnded()) > 0 }

// replaceAtOnce tells the cluster, once it answers, of its CA that was replaced, and takes
// away those that have ended.
func (b *builder) replaceAtOnce(c *cluster) {
	ended := c.leftEnded()
	maps.Copy(ended, c.atOnce)
	if len(ended) == 0 {
		return
	}
	var before []state.Address
	for _, n := range c.nodes {
		before = append(before, step(n.target, controlPlanePhase), step(n.target, kubeletStartPhase), step(n.target, kubeconfigPhase))
	}
	var ops []planner.Operation
	if old, untold := ended[c.caBase()]; untold {
		before = b.tellReplaced(c, old, before)
		ops = append(ops, c.seatNode().markCA(old))
	}
	for _, a := range c.authorities {
		if _, kept := ended[a.Base]; kept {
			ops = append(ops, planner.RemovePath{Path: a.endedFile()})
		}
	}
	end := step(c.seat, certsPhase)
	end.Waypoint = replacedCA
	b.addUpdate(end, planner.Step{Operations: ops, Impact: "takes away the CA that has ended"}, before)
}

// tellReplaced tells nodes that join, and pods, of the CA that has taken an old one's place,
// and returns what that takes.
func (b *builder) tellReplaced(c *cluster, old string, before []state.Address) []state.Address {
	s := &rotationStage{name: trustBoth, view: c.view, place: slices.Index(c.view.clusters, c)}
	r := &rotation{authority: c.authority(c.caBase()), old: old}
	info, pods := step(c.target, tokenPhase), step(c.target, addonPhase)
	info.Waypoint, pods.Waypoint = replacedCA, replacedCA
	b.addUpdate(info, s.told(), before)
	b.addUpdate(pods, s.publishedTo(r), append(before, info))
	b.draft.Rotations = append(b.draft.Rotations, Rotation{c.target, "ca"}.String()+": the CA has ended; when everything below the new one is issued and the API answers, the cluster is told of it.")
	return []state.Address{pods}
}
