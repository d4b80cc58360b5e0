package rotation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// rotationStageCertificates returns the operations on a control plane's CA files and certificates.
func rotationStageCertificates(s *topology.RotationStage, n *topology.Node) []planner.Operation {
	var ops []planner.Operation
	for _, r := range s.Cluster().Rotating {
		if !takesPart(s, r) {
			continue
		}
		switch s.Name {
		case topology.TrustBoth:
			ops = append(ops, cARotationTrust(r, n)...)
		case topology.Reissue:
			ops = append(ops, reissue(r, n)...)
		default:
			ops = append(ops, drop(r, n)...)
		}
	}
	return ops
}

// cARotationTrust issues or copies the new CA, and appends it to the trust file after the old one.
func cARotationTrust(r *topology.CARotation, n *topology.Node) []planner.Operation {
	bring := bringNext(r)
	switch {
	case r.X509 != nil:
		// The key comes before the certificate, whose existence means that the pair is complete.
		bring = planner.ImportSecrets{Files: []planner.SecretFile{
			pki.BringFile(n.Cluster, r.NextBase()+".key", pki.KeyMode, r.Block+".key"), pki.BringFile(n.Cluster, r.NextBase()+".crt", "0644", r.Block+".certificate"),
		}}
	case n.Target == r.Source:
		bring = planner.IssueCA{CommonName: r.CommonName, Algorithm: r.Algorithm, Validity: r.Validity, To: r.NextBase()}
	}
	return caPair(r.Base).trust(n, r.Begun, r.Old, r.New, bring)
}

// reissue issues the certificates of the old CA again with the new one.
func reissue(r *topology.CARotation, n *topology.Node) []planner.Operation {
	var ops []planner.Operation
	if r.Begun && len(n.CADigestsIn(r.Base+".crt")) == 0 { // lost since all trust both
		ops = append(ops, cARotationTrust(r, n)...)
	}
	return append(ops, reissueLeaves(r, n)...)
}

func reissueLeaves(r *topology.CARotation, n *topology.Node) []planner.Operation {
	var ops []planner.Operation
	for _, leaf := range leavesOf(r, n) {
		if certs := n.Report.Files[leaf.Base+".crt"].Certificates; r.Begun && len(certs) > 0 && certs[0].IssuerKeyDigest == r.New {
			continue
		}
		op := pki.Issue(n, leaf)
		op.CA, op.Renew = signer(r), true
		ops = append(ops, op)
	}
	return ops
}

// drop replaces the old CA with the new one.
func drop(r *topology.CARotation, n *topology.Node) []planner.Operation {
	if r.Begun && slices.Equal(n.CADigestsIn(r.Base+".crt"), []string{r.New}) {
		return nil
	}
	var ops []planner.Operation
	if next := r.NextBase(); r.Begun && n.Target != r.Source && (len(n.CADigestsIn(next+".crt")) == 0 || !n.Report.Files[next+".key"].Exists) {
		ops = append(ops, bringNext(r))
	}
	return append(ops,
		planner.CopySecrets{From: n.Target, Files: []planner.SecretFile{{Path: r.Base + ".key", Mode: pki.KeyMode, Owner: topology.Root, Source: r.NextBase() + ".key"}}},
		planner.BundleTrust{To: r.Base + ".crt", Of: []string{r.NextBase() + ".crt"}})
}

// bringNext copies the new CA from the control plane that has it.
func bringNext(r *topology.CARotation) planner.Operation {
	next := r.NextBase()
	return planner.CopySecrets{From: r.Source, Files: []planner.SecretFile{
		{Path: next + ".key", Mode: pki.KeyMode, Owner: topology.Root}, {Path: next + ".crt", Mode: "0644", Owner: topology.Root},
	}}
}

// rotationStageDescribe describes the changes to a control plane's CAs and keys.
func rotationStageDescribe(s *topology.RotationStage, n *topology.Node) string {
	var out []string
	if cas := describeCAs(s, n); cas != "" {
		out = append(out, cas)
	}
	if keys := s.Cluster().Keys; keys.TakesPart(s.Name) {
		out = append(out, keyRotationDescribe(keys, s.Name))
	}
	return strings.Join(out, "; ")
}

func describeCAs(s *topology.RotationStage, n *topology.Node) string {
	var names []string
	for _, r := range s.Cluster().Rotating {
		if takesPart(s, r) {
			names = append(names, r.CAName)
		}
	}
	if len(names) == 0 {
		return ""
	}
	list := strings.Join(names, ", ")
	switch s.Name {
	case topology.TrustBoth:
		if n.Target == s.Cluster().Rotating[0].Source && !s.Cluster().Rotating[0].Begun {
			return "creates a new CA beside the old one, and trusts both: " + list
		}
		return "installs the new CA, and trusts both: " + list
	case topology.Reissue:
		return "reissues with the new CA what the old one has signed: " + list
	}
	return "replaces the old CA with the new one: " + list
}

// describeKubeconfigs describes the changes to a control plane's kubeconfigs.
func describeKubeconfigs(s *topology.RotationStage) string {
	return map[string]string{
		topology.TrustBoth: "makes its kubeconfigs trust both", topology.Reissue: "reissues its kubeconfigs with the new CA", topology.DropOld: "makes its kubeconfigs trust the new CA only",
	}[s.Name]
}

// satisfied reports whether a file has the CAs that it has to trust in the stage.
func satisfied(s *topology.RotationStage, r *topology.CARotation, cas []string) bool {
	if s.Name == topology.DropOld {
		return r.Begun && slices.Equal(cas, []string{r.New})
	}
	return r.Begun && slices.Contains(cas, r.New) && slices.Contains(cas, r.Old)
}

// rotationStageKubeconfigs returns the operations on the kubeconfigs of a control plane's
// administrator and controllers.
func rotationStageKubeconfigs(s *topology.RotationStage, n *topology.Node) []planner.Operation {
	r, ca := s.Cluster().ClusterCA(), s.Cluster().CAFile()
	if !takesPart(s, r) {
		return nil
	}
	var ops []planner.Operation
	for _, k := range kubeadm.Kubeconfigs(n.Input(), true) {
		f := n.Report.Files[k.Path]
		lost := !f.Exists && !slices.Contains([]string{topology.AdminConf, pki.ControllerConf, pki.SchedulerConf}, k.Path)
		if k.Path == topology.KubeletConf || lost {
			continue
		}
		switch {
		case mends(s, r, n, k.Path):
			op := pki.WriteKubeconfig(n, k, planner.Change{Action: planner.Update}).(planner.WriteKubeconfig)
			op.CA, op.Trust = issuer(s, r), ca
			ops = append(ops, op)
		case s.Name != topology.Reissue && satisfied(s, r, n.CADigestsIn(k.Path)):
		case s.Name != topology.Reissue:
			ops = append(ops, planner.SetKubeconfig{Path: k.Path, Trust: ca})
		case !r.Begun || f.Kubeconfig == nil || f.Kubeconfig.Client == nil || f.Kubeconfig.Client.IssuerKeyDigest != r.New:
			op := pki.WriteKubeconfig(n, k, planner.Change{Action: planner.Update}).(planner.WriteKubeconfig)
			op.CA, op.Trust = issuer(s, r), ca
			ops = append(ops, op)
		}
	}
	return ops
}

// takesUp makes the static pods of a phase read the written files, and waits until they have.
func takesUp(n *topology.Node, w topology.PhaseWork, phase string, t staticpod.CertReload) planner.Step {
	step := planner.Step{Via: n.Target, Operations: host.FileOperations(w)}
	rewritten := staticpod.AwaitPods(n, &step, w)
	reread := staticpod.TakeUpFiles(n, &step, phase, rewritten, t)
	return staticpod.Disrupts(n, step, phase, rewritten, reread)
}

// untouched reports whether this rotation does not write a file in the stage: a component that has
// not read it is not its concern.
func untouched(s *topology.RotationStage, path string) bool {
	c := s.Cluster()
	if writes(c.Keys, s.Name, path) {
		return false
	}
	for _, r := range c.Rotating {
		if takesPart(s, r) && path == r.Base+".crt" {
			return false
		}
	}
	return !takesPart(s, c.ClusterCA()) || !slices.Contains([]string{pki.ControllerConf, pki.SchedulerConf}, path)
}

// rotationStageKubelet makes a node's kubelet trust the CAs of the stage, or issues it a
// certificate of the new CA.
func rotationStageKubelet(s *topology.RotationStage, n *topology.Node) planner.Step {
	c := s.Cluster()
	r := c.ClusterCA()
	switch {
	case !takesPart(s, r):
		return planner.Step{}
	case s.Name == topology.Reissue:
		return kubeletCertificate(s, n, r)
	}
	ca := c.CAFile()
	var ops []planner.Operation
	copied := satisfied(s, r, n.CADigestsIn(ca))
	if !n.IsControlPlane() && !copied {
		ops = append(ops, planner.CopySecrets{From: r.Source, Files: []planner.SecretFile{{Path: ca, Mode: "0644", Owner: topology.Root}}})
	}
	// An earlier run may have been interrupted between the two.
	if m := topology.MarksOf(n.Report); s.Name == topology.DropOld && !n.IsControlPlane() && (!copied || m != nil && m.ClusterCA == r.Old) {
		ops = append(ops, host.MarkCA(n, r.Old))
	}
	if mends(s, r, n, topology.KubeletConf) {
		return revive(s, n, ops)
	}
	if len(ops) == 0 && satisfied(s, r, n.CADigestsIn(topology.KubeletConf)) && !n.Report.Outdated(pki.KubeletProcess.Name, topology.KubeletConf) {
		return planner.Step{}
	}
	step := planner.Step{Operations: append(ops, planner.SetKubeconfig{Path: topology.KubeletConf, Trust: ca})}
	pki.RestartKubelet(n, &step)
	step.Impact = "makes the kubelet trust both, and restarts it; pods keep running"
	if s.Name == topology.DropOld {
		step.Impact = "makes the kubelet trust the new CA only, and restarts it; pods keep running"
	}
	return step
}

// kubeletCertificate removes a kubelet's certificate after writing another one into its kubeconfig:
// the kubelet starts with that one and continues from there, as when its own has expired.
func kubeletCertificate(s *topology.RotationStage, n *topology.Node, r *topology.CARotation) planner.Step {
	var ops []planner.Operation
	if !n.IsControlPlane() { // on control planes with their other certificates
		ops = reissueLeaves(r, n)
	}
	own := n.Report.Files[topology.KubeletClientCert].Certificates
	if r.Begun && len(own) > 0 && own[0].IssuerKeyDigest == r.New && !kubelet.HasInlinedCertificate(n) {
		if len(ops) > 0 && n.ServesSigned() {
			ops = append(ops, pki.ServingWait(n))
		}
		return planner.Step{Operations: ops}
	}
	ca := s.Cluster().CAFile()
	if !n.IsControlPlane() && r.Begun && len(n.CADigestsIn(ca)) == 0 {
		ops = append(ops, planner.CopySecrets{From: r.Source, Files: []planner.SecretFile{{Path: ca, Mode: "0644", Owner: topology.Root}}})
	}
	ops = append(ops, pki.ReplaceKubeletCertificate(n, signer(r), ca, true)...)
	return planner.Step{
		Via: n.Cluster.Primary, Impact: "issues the kubelet a certificate of the new CA and restarts it; pods keep running",
		Operations: append(ops, pki.ReadyWait(n)...),
	}
}

// clusterInfo makes nodes that join from now on trust the same CAs as the others.
func clusterInfo(s *topology.RotationStage) planner.Step {
	if s.Name == topology.Reissue || !takesPart(s, s.Cluster().ClusterCA()) {
		return planner.Step{}
	}
	return told(s)
}

// told publishes the content of the CA file to joining nodes.
func told(s *topology.RotationStage) planner.Step {
	c := s.Cluster()
	for _, it := range objects.ObjectItems(c, topology.TokenPhase) {
		if it.Address.ID() != state.ClusterInfo.String() {
			continue
		}
		return planner.Step{Via: c.Primary, Impact: "publishes which CA joining nodes have to trust", Operations: []planner.Operation{
			planner.ApplyObject{Object: sensitive.ParsedObject(it.Content), CAFrom: c.CAFile(), CAKey: state.ClusterInfoKey},
		}}
	}
	return planner.Step{}
}

// published waits until the CA is published in every namespace and, before the new CA issues
// anything, restarts the pods of kubewright's addons that call the API.
func published(s *topology.RotationStage) planner.Step {
	c := s.Cluster()
	r := c.ClusterCA()
	if s.Name == topology.Reissue || !takesPart(s, r) {
		return planner.Step{}
	}
	return publishedTo(s, r)
}

func publishedTo(s *topology.RotationStage, r *topology.CARotation) planner.Step {
	c := s.Cluster()
	step := planner.Step{Via: c.Primary, Impact: "waits until the CA is published in every namespace", Operations: []planner.Operation{
		planner.Wait{For: planner.WaitRootCA, Name: c.CAFile(), Timeout: publishTime},
	}}
	if s.Name != topology.TrustBoth {
		return step
	}
	var names []string
	for _, op := range callers(c, r) {
		step.Operations = append(step.Operations, op)
		names = append(names, op.Name)
	}
	if len(names) > 0 {
		step.Impact += fmt.Sprintf(", and restarts the pods of %s", strings.Join(names, ", "))
		if r.Begun {
			step.Impact += " if that was not done yet"
		}
	}
	return step
}

// publishTime is how long to wait until the controller manager has published the CA in all
// namespaces.
const publishTime = 5 * time.Minute

// callers returns the restarts of the pods of this cluster's addons, which may read the CA of API
// servers only when they start.
func callers(c *topology.Cluster, r *topology.CARotation) []planner.RestartPods {
	var out []planner.RestartPods
	for _, it := range append(objects.ObjectItems(c, topology.AddonPhase), objects.UserAddons(c)...) {
		ref := objects.ParseRef(it.Address.ID())
		if ref.Kind != "DaemonSet" && ref.Kind != "Deployment" || it.CreateOnly {
			continue
		}
		out = append(out, planner.RestartPods{
			Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Mark: restartMark(r), Timeout: staticpod.ProxyRestart,
		})
	}
	return out
}
