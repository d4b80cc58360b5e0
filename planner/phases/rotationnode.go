package phases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// certificates are the operations on a control plane's CA files and certificates.
func (s *rotationStage) certificates(n *node) []planner.Operation {
	var ops []planner.Operation
	for _, r := range s.cluster().rotating {
		if !s.takesPart(r) {
			continue
		}
		switch s.name {
		case trustBoth:
			ops = append(ops, r.trust(n)...)
		case reissue:
			ops = append(ops, r.reissue(n)...)
		default:
			ops = append(ops, r.drop(n)...)
		}
	}
	return ops
}

// trust makes the new CA, or brings it, and puts it behind the old one.
func (r *rotation) trust(n *node) []planner.Operation {
	crt, next := r.Base+".crt", r.nextBase()+".crt"
	bundle := n.casIn(crt)
	present := r.begun && slices.Contains(n.casIn(next), r.new) && n.report.Files[r.nextBase()+".key"].Exists
	if present && slices.Contains(bundle, r.old) && slices.Contains(bundle, r.new) && n.report.Files[r.oldFile()].Exists {
		return nil
	}
	var ops []planner.Operation
	switch {
	case present:
	case r.certificate != nil:
		// Before the certificate: one that exists means that the pair is whole.
		ops = append(ops, planner.ImportSecrets{Files: []planner.SecretFile{
			n.cluster.bring(r.nextBase()+".key", keyMode, r.block+".key"), n.cluster.bring(next, "0644", r.block+".certificate"),
		}})
	case n.target == r.source:
		ops = append(ops, planner.IssueCA{CommonName: r.CommonName, Algorithm: r.Algorithm, Validity: r.Validity, To: r.nextBase()})
	default:
		ops = append(ops, r.bringNext())
	}
	if !r.begun || len(bundle) > 0 || !slices.Equal(n.casIn(r.oldFile()), []string{r.old}) { // else only ca.crt was lost
		ops = append(ops, planner.BundleTrust{To: r.oldFile(), Of: []string{crt}})
	}
	return append(ops,
		planner.BundleTrust{To: crt, Of: []string{r.oldFile(), next}})
}

// reissue has the new CA sign what the old one has signed.
func (r *rotation) reissue(n *node) []planner.Operation {
	var ops []planner.Operation
	if r.begun && len(n.casIn(r.Base+".crt")) == 0 { // lost since all trust both
		ops = append(ops, r.trust(n)...)
	}
	for _, leaf := range r.leavesOf(n) {
		if certs := n.report.Files[leaf.Base+".crt"].Certificates; r.begun && len(certs) > 0 && certs[0].IssuerKeyDigest == r.new {
			continue
		}
		op := n.issue(leaf)
		op.CA, op.Renew = r.signer(), true
		ops = append(ops, op)
	}
	return ops
}

// drop puts the new CA in the old one's place.
func (r *rotation) drop(n *node) []planner.Operation {
	if r.begun && slices.Equal(n.casIn(r.Base+".crt"), []string{r.new}) {
		return nil
	}
	var ops []planner.Operation
	if next := r.nextBase(); r.begun && n.target != r.source && (len(n.casIn(next+".crt")) == 0 || !n.report.Files[next+".key"].Exists) {
		ops = append(ops, r.bringNext())
	}
	return append(ops,
		planner.CopySecrets{From: n.target, Files: []planner.SecretFile{{Path: r.Base + ".key", Mode: keyMode, Owner: root, Source: r.nextBase() + ".key"}}},
		planner.BundleTrust{To: r.Base + ".crt", Of: []string{r.nextBase() + ".crt"}})
}

// bringNext brings the new CA from the control plane that has it.
func (r *rotation) bringNext() planner.Operation {
	next := r.nextBase()
	return planner.CopySecrets{From: r.source, Files: []planner.SecretFile{
		{Path: next + ".key", Mode: keyMode, Owner: root}, {Path: next + ".crt", Mode: "0644", Owner: root},
	}}
}

// describe says what becomes of a control plane's CAs and keys.
func (s *rotationStage) describe(n *node) string {
	var out []string
	if cas := s.describeCAs(n); cas != "" {
		out = append(out, cas)
	}
	if keys := s.cluster().keys; keys.takesPart(s.name) {
		out = append(out, keys.describe(s.name))
	}
	return strings.Join(out, "; ")
}

func (s *rotationStage) describeCAs(n *node) string {
	var names []string
	for _, r := range s.cluster().rotating {
		if s.takesPart(r) {
			names = append(names, r.CAName)
		}
	}
	if len(names) == 0 {
		return ""
	}
	list := strings.Join(names, ", ")
	switch s.name {
	case trustBoth:
		if n.target == s.cluster().rotating[0].source && !s.cluster().rotating[0].begun {
			return "makes a new CA beside the old one, and trusts both: " + list
		}
		return "brings the new CA, and trusts both: " + list
	case reissue:
		return "issues what the old CA has signed by the new one: " + list
	}
	return "puts the new CA in the place of the old one: " + list
}

// describeKubeconfigs says what becomes of a control plane's kubeconfigs.
func (s *rotationStage) describeKubeconfigs() string {
	return map[string]string{
		trustBoth: "has its kubeconfigs trust both", reissue: "issues its kubeconfigs by the new one", dropOld: "has its kubeconfigs trust the new one alone",
	}[s.name]
}

// satisfied tells that a file trusts what it has to in the stage.
func (s *rotationStage) satisfied(r *rotation, cas []string) bool {
	if s.name == dropOld {
		return r.begun && slices.Equal(cas, []string{r.new})
	}
	return r.begun && slices.Contains(cas, r.new) && slices.Contains(cas, r.old)
}

// kubeconfigs are the operations on the kubeconfigs of a control plane's
// administrator and controllers.
func (s *rotationStage) kubeconfigs(n *node) []planner.Operation {
	r, ca := s.cluster().clusterCA(), s.cluster().caFile()
	if !s.takesPart(r) {
		return nil
	}
	var ops []planner.Operation
	for _, k := range kubeadm.Kubeconfigs(n.input(), true) {
		f := n.report.Files[k.Path]
		lost := !f.Exists && !slices.Contains([]string{adminConf, controllerConf, schedulerConf}, k.Path)
		if k.Path == kubeletConf || lost {
			continue
		}
		switch {
		case s.mends(r, n, k.Path):
			op := n.writeKubeconfig(k, planner.Change{Action: planner.Update}).(planner.WriteKubeconfig)
			op.CA, op.Trust = s.issuer(r), ca
			ops = append(ops, op)
		case s.name != reissue && s.satisfied(r, n.casIn(k.Path)):
		case s.name != reissue:
			ops = append(ops, planner.SetKubeconfig{Path: k.Path, Trust: ca})
		case !r.begun || f.Kubeconfig == nil || f.Kubeconfig.Client == nil || f.Kubeconfig.Client.IssuerKeyDigest != r.new:
			op := n.writeKubeconfig(k, planner.Change{Action: planner.Update}).(planner.WriteKubeconfig)
			op.CA, op.Trust = s.issuer(r), ca
			ops = append(ops, op)
		}
	}
	return ops
}

// takesUp has the static pods of a phase take up what was written, and waits until
// they have.
func (n *node) takesUp(w work, phase string, t taking) planner.Step {
	step := planner.Step{Via: n.target, Operations: fileOperations(w)}
	rewritten := n.awaitPods(&step, w)
	reread := n.takeUpFiles(&step, phase, rewritten, t)
	return n.disrupts(step, phase, rewritten, reread)
}

// untouched tells of a file that this rotation does not write in the stage: that
// somebody has not read it is another matter.
func (s *rotationStage) untouched(path string) bool {
	c := s.cluster()
	if c.keys.writes(s.name, path) {
		return false
	}
	for _, r := range c.rotating {
		if s.takesPart(r) && path == r.Base+".crt" {
			return false
		}
	}
	return !s.takesPart(c.clusterCA()) || !slices.Contains([]string{controllerConf, schedulerConf}, path)
}

// kubelet has a node's kubelet trust what it has to, or gives it a certificate
// of the new CA.
func (s *rotationStage) kubelet(n *node) planner.Step {
	c := s.cluster()
	r := c.clusterCA()
	switch {
	case !s.takesPart(r):
		return planner.Step{}
	case s.name == reissue:
		return s.kubeletCertificate(n, r)
	}
	ca := c.caFile()
	var ops []planner.Operation
	if !n.isControlPlane() && !s.satisfied(r, n.casIn(ca)) {
		ops = append(ops, planner.CopySecrets{From: r.source, Files: []planner.SecretFile{{Path: ca, Mode: "0644", Owner: root}}})
		if s.name == dropOld {
			ops = append(ops, n.markCA(r.old))
		}
	}
	if s.mends(r, n, kubeletConf) {
		return s.revive(n, ops)
	}
	if len(ops) == 0 && s.satisfied(r, n.casIn(kubeletConf)) && !n.report.Outdated(kubeletProcess.Name, kubeletConf) {
		return planner.Step{}
	}
	step := planner.Step{Operations: append(ops, planner.SetKubeconfig{Path: kubeletConf, Trust: ca})}
	n.restartKubelet(&step)
	step.Impact = "has the kubelet trust both, and restarts it; pods keep running"
	if s.name == dropOld {
		step.Impact = "has the kubelet trust the new CA alone, and restarts it; pods keep running"
	}
	return step
}

// kubeletCertificate takes a kubelet's certificate away when another one is in
// its kubeconfig: it takes that over and goes on from there, as when its own has ended.
func (s *rotationStage) kubeletCertificate(n *node, r *rotation) planner.Step {
	own := n.report.Files[kubeletClientCert].Certificates
	if r.begun && len(own) > 0 && own[0].IssuerKeyDigest == r.new && !n.inlined() {
		return planner.Step{}
	}
	ca := s.cluster().caFile()
	var ops []planner.Operation
	if !n.isControlPlane() && r.begun && len(n.casIn(ca)) == 0 {
		ops = append(ops, planner.CopySecrets{From: r.source, Files: []planner.SecretFile{{Path: ca, Mode: "0644", Owner: root}}})
	}
	ops = append(ops, n.replaceKubeletCertificate(r.signer(), ca, true)...)
	return planner.Step{
		Via: n.cluster.seat, Impact: "gives the kubelet a certificate of the new CA and restarts it; pods keep running",
		Operations: append(ops, n.readyWait()...),
	}
}

// clusterInfo has nodes that join from now on trust what the others do.
func (s *rotationStage) clusterInfo() planner.Step {
	if s.name == reissue || !s.takesPart(s.cluster().clusterCA()) {
		return planner.Step{}
	}
	return s.told()
}

// told tells nodes that join what is in the file of the CA.
func (s *rotationStage) told() planner.Step {
	c := s.cluster()
	for _, it := range c.objectItems(tokenPhase) {
		if it.Address.ID() != state.ClusterInfo.String() {
			continue
		}
		return planner.Step{Via: c.seat, Impact: "tells nodes that join which CA to trust", Operations: []planner.Operation{
			planner.ApplyObject{Object: parsedObject(it.Content), CAFrom: c.caFile(), CAKey: state.ClusterInfoKey},
		}}
	}
	return planner.Step{}
}

// published waits until pods of every namespace are told, and before anything is
// issued by the new CA has those start anew that are ours and call the API.
func (s *rotationStage) published() planner.Step {
	c := s.cluster()
	r := c.clusterCA()
	if s.name == reissue || !s.takesPart(r) {
		return planner.Step{}
	}
	return s.publishedTo(r)
}

func (s *rotationStage) publishedTo(r *rotation) planner.Step {
	c := s.cluster()
	step := planner.Step{Via: c.seat, Impact: "waits until every namespace is told", Operations: []planner.Operation{
		planner.Wait{For: planner.WaitRootCA, Name: c.caFile(), Timeout: publishTime},
	}}
	if s.name != trustBoth {
		return step
	}
	var names []string
	for _, op := range c.callers(r) {
		step.Operations = append(step.Operations, op)
		names = append(names, op.Name)
	}
	if len(names) > 0 {
		step.Impact += fmt.Sprintf(", and restarts the pods of %s", strings.Join(names, ", "))
		if r.begun {
			step.Impact += " if that was not done yet"
		}
	}
	return step
}

// publishTime bounds the wait for the controller manager to tell all namespaces.
const publishTime = 5 * time.Minute

// callers restart the pods of this cluster's addons, which may have read only
// when they started by which CA they know API servers.
func (c *cluster) callers(r *rotation) []planner.RestartPods {
	var out []planner.RestartPods
	for _, it := range append(c.objectItems(addonPhase), c.userAddons()...) {
		ref := parseRef(it.Address.ID())
		if ref.Kind != "DaemonSet" && ref.Kind != "Deployment" || it.CreateOnly {
			continue
		}
		out = append(out, planner.RestartPods{
			Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Mark: r.restartMark(), Timeout: proxyRestart,
		})
	}
	return out
}

// signing is a pair of files with which controller managers sign; zero for the cluster's CA.
type signing struct{ certificate, key string }

// signing is with what this node's controller manager signs: what the stage says, and
// while no stage can go on, for the API is silent, what it was last told. With a
// bundle in the CA's file it cannot sign with that, and would not come up.
func (n *node) signing() signing {
	r := n.cluster.clusterCA()
	if n.cluster.rotates() || r == nil || !r.begun || n.report == nil {
		return n.cluster.signing
	}
	var told signing
	for _, a := range n.seen(state.KindStaticPod, manifest("kube-controller-manager")).AsMap()["args"].AsArgs() {
		switch a.Name {
		case "cluster-signing-cert-file":
			told.certificate = a.Value
		case "cluster-signing-key-file":
			told.key = a.Value
		}
	}
	if told.certificate == r.Base+".crt" && len(n.casIn(told.certificate)) > 1 {
		return signingAt(n.cluster, trustBoth)
	}
	return told
}
