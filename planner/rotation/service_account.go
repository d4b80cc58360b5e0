package rotation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The service account keys are rotated in the stages of a CA:
//
//   - trust-both: a new pair is created beside the old one, and every API server accepts tokens of
//     both: the old public key is the first in sa.pub.
//   - reissue: API servers and controller managers sign with the new one.
//   - drop-old: only the new public key remains in sa.pub.
//
// Between the last two stages pods have to get new tokens. Their kubelets do that within a day, so
// no apply waits for it: the first apply after that drops the old key. Until then the cluster may
// change freely; nodes that join get both public keys and the new pair, because all nodes that have
// begun the rotation may have been removed by its end.
const serviceAccount = "service-account"

// tokenAge is how long after the last API server has switched to the new key a pod may still have a
// token of the old one. A kubelet renews a token that is older than 24 hours, whatever its validity
// is (pkg/kubelet/token, maxTTL); the rest is for hosts whose clocks differ, and for kubelets that
// were not running.
const tokenAge = 25 * time.Hour

// KeyRotationPaths returns the files of a rotation of the keys, in the order of their removal.
func KeyRotationPaths(base string) []string { return tokenPair(base).paths() }

// AsksForTokens reports whether the API has to be queried for Secrets with tokens: the rotation of
// the service account keys is requested, or was observed on the control plane that is queried. One
// that has lost the new pair still has both keys in the file of accepted public keys. Otherwise no
// query is made, because it reads secrets.
func AsksForTokens(cfg *config.Config, label string, rotate []topology.Rotation, seen *state.Report) bool {
	if slices.Contains(rotate, topology.Rotation{Cluster: state.ClusterTarget(label), CA: serviceAccount}) {
		return true
	}
	c := cfg.Cluster(label)
	if c == nil {
		return false
	}
	base := c.Certificates.Dir + "/sa"
	return seen.Files[base+"-next.pub"].Exists || len(seen.Files[base+".pub"].PublicKeys) > 1
}

func publicKeys(n *topology.Node, path string) []string {
	if n.Report == nil {
		return nil
	}
	return n.Report.Files[path].PublicKeys
}

// holdsKey reports whether the private key at a path equals the one at another path on another
// control plane.
func holdsKey(n *topology.Node, path string, other *topology.Node, there string) bool {
	f, o := n.Report.Files[path], other.Report.Files[there]
	return f.Exists && o.Exists && f.SHA256 != "" && f.SHA256 == o.SHA256
}

// keyControlPlanes returns the control planes with service account keys, the primary first.
func keyControlPlanes(c *topology.Cluster) []*topology.Node {
	return slices.DeleteFunc(etcd.PrimaryFirst(c), func(n *topology.Node) bool {
		return n.Report == nil || !n.Report.Files[n.ServiceAccountKey()+".pub"].Exists
	})
}

// KeyRotation returns the rotation of the service account keys that has begun or is requested; nil
// if there is none.
func KeyRotation(c *topology.Cluster) *topology.KeyRotation {
	primary := c.PrimaryNode()
	if c.Founding || c.Fleet.Destroy || primary == nil || primary.Report == nil {
		return nil
	}
	r := keyProgress(c, primary)
	if !r.Begun && !requested(c, serviceAccount) {
		return nil
	}
	secrets := oldTokens(c, r)
	due, held := dueIn(c, r, secrets)
	return r.WithEnd(secrets, due, held)
}

// keyProgress returns the rotation as far as hosts show it.
func keyProgress(c *topology.Cluster, primary *topology.Node) *topology.KeyRotation {
	r := &topology.KeyRotation{Base: primary.ServiceAccountKey(), Source: c.Primary}
	planes := keyControlPlanes(c)
	source, was, is := tokenPair(r.Base).progress(planes, func(*topology.Node) bool { return true })
	r.Old, r.New, r.Begun = was, is, source != nil
	if !r.Begun {
		return r
	}
	r.Source, r.Signed = source.Target, true
	for _, n := range planes {
		r.Dropping = r.Dropping || slices.Equal(publicKeys(n, r.Base+".pub"), []string{r.New})
		if !holdsKey(n, r.Base+".key", source, pki.NextKeyBase(r)+".key") {
			r.Signed = false
			continue
		}
		r.Signing = true
		r.Signed = r.Signed && !slices.ContainsFunc(keyReaders, func(component string) bool { return n.Report.Outdated(component, r.Base+".key") })
		for _, at := range []time.Time{n.Report.Files[r.Base+".key"].Modified, n.Report.Started["kube-apiserver"]} {
			if at.After(r.Since) {
				r.Since = at
			}
		}
	}
	return r
}

// keyReaders are the components that sign with the private key.
var keyReaders = []string{"kube-apiserver", "kube-controller-manager"}

// oldTokens returns the names of Secrets with tokens that the old key signed.
func oldTokens(c *topology.Cluster, r *topology.KeyRotation) []string {
	if c.Report == nil {
		return nil
	}
	var out []string
	for _, s := range c.Report.TokenSecrets {
		// A token without a key ID may have been signed by the old key.
		if s.Key == "" || s.Key == r.Old {
			out = append(out, s.Namespace+"/"+s.Name)
		}
	}
	return out
}

// dueIn reports whether the old key can be dropped, and what that waits for otherwise.
func dueIn(c *topology.Cluster, r *topology.KeyRotation, secrets []string) (due bool, held string) {
	switch {
	case r.Dropping:
		return true, ""
	case !r.Signed:
		return false, ""
	case c.Report == nil:
		return false, "the API answers"
	case slices.Contains(c.Fleet.Skipped, topology.TokenPausePhase):
		return true, ""
	case c.Fleet.ObservedAt.Before(r.Since.Add(tokenAge)):
		return false, pki.Date(r.Since.Add(tokenAge)) + ", when kubelets have renewed the tokens of all pods"
	case !c.Report.TokensSeen:
		return false, "the Secrets with tokens were observed"
	case len(secrets) > 0:
		return false, "no Secret holds a token of the old key"
	case disturbed(c) != nil:
		return false, "nothing else of the cluster changes (" + disturbed(c).why + ")"
	}
	return true, ""
}

// writes reports whether a stage writes a file.
func writes(r *topology.KeyRotation, stage, path string) bool {
	return r.TakesPart(stage) && (path == r.Base+".key" || path == r.Base+".pub")
}

// keys returns the operations on a control plane's service account keys.
func keys(s *topology.RotationStage, n *topology.Node) []planner.Operation {
	r := s.Cluster().Keys
	if !r.TakesPart(s.Name) {
		return nil
	}
	switch s.Name {
	case topology.TrustBoth:
		return keyRotationTrust(r, n)
	case topology.Reissue:
		if r.Begun && holdsKey(n, r.Base+".key", s.Cluster().Node(r.Source), pki.NextKeyBase(r)+".key") {
			return nil
		}
		return []planner.Operation{pki.CopyKeys(r, planner.SecretFile{Path: r.Base + ".key", Source: pki.NextKeyBase(r) + ".key"})}
	}
	if r.Begun && slices.Equal(publicKeys(n, r.Base+".pub"), []string{r.New}) {
		return nil
	}
	return []planner.Operation{pki.CopyKeys(r, planner.SecretFile{Path: r.Base + ".pub", Source: pki.NextKeyBase(r) + ".pub"})}
}

// keyRotationTrust creates or copies the new pair, and appends its public key after the old one.
func keyRotationTrust(r *topology.KeyRotation, n *topology.Node) []planner.Operation {
	bring := pki.CopyNextKeys(r)
	if n.Target == r.Source {
		bring = planner.IssueKeyPair{Algorithm: pki.Algorithm(n), To: pki.NextKeyBase(r)}
	}
	return tokenPair(r.Base).trust(n, r.Begun, r.Old, r.New, bring)
}

// keyRotationDescribe describes the change to a control plane's service account keys.
func keyRotationDescribe(r *topology.KeyRotation, stage string) string {
	switch stage {
	case topology.TrustBoth:
		return "accepts tokens of a new service account key in addition to those of the old one"
	case topology.Reissue:
		return "signs tokens with the new service account key"
	}
	return "no longer accepts tokens of the old service account key"
}

// keyRotationSentence returns the plan's sentence about the rotation.
func keyRotationSentence(r *topology.KeyRotation, c *topology.Cluster) string {
	name := topology.Rotation{Cluster: c.Target, CA: serviceAccount}.String()
	later := fmt.Sprintf("the first apply %d hours after that drops the old one, when kubelets have renewed the tokens of all pods", int(tokenAge.Hours()))
	switch {
	case r.Due:
		return name + ": tokens of the old key are no longer accepted."
	case r.Begun:
		return name + ": in progress until all sign with the new key; " + later + "."
	}
	return name + ": both keys are accepted, then the new one signs; " + later + "."
}

// checkKeys refuses a rotation of the service account keys that is not possible, and reports what a
// rotation waits for.
func checkKeys(c *topology.Cluster) diag.Diagnostics {
	r := c.Keys
	if r == nil {
		return nil
	}
	at := func(d *diag.Diagnostic) diag.Diagnostics { return diag.Diagnostics{d.At(c.Source).For(c.Target)} }
	name := topology.Rotation{Cluster: c.Target, CA: serviceAccount}
	for _, n := range keyControlPlanes(c) {
		f := n.Report.Files[r.Base+".pub"]
		switch {
		case r.Begun:
		case len(f.PublicKeys) == 0:
			return diag.Diagnostics{diag.Errorf("Service account key cannot be read", "%s: cannot read %s.pub of %s (%s): %s. "+
				"Copy it from another control plane, or derive it from the private key (openssl pkey -in %s.key -pubout), and restart the API server.", name, r.Base, n.Target, n.Address, f.Invalid, r.Base).At(n.Source).For(n.Target)}
		case len(f.PublicKeys) > 1:
			return diag.Diagnostics{diag.Errorf("Service account key file has several keys", "%s: %s.pub of %s (%s) has %d public keys. A rotation would leave only the new one in "+
				"it. Keep only the key with which tokens are signed in that file, on every control plane, and have the API servers reload it.", name, r.Base, n.Target, n.Address, len(f.PublicKeys)).At(n.Source).For(n.Target)}
		}
	}
	if stray := strayFlags(c, serviceAccount); len(stray) > 0 {
		s := stray[0]
		return diag.Diagnostics{diag.Errorf("Service account keys are managed outside kubewright", "%s: the configuration sets %s, so that the keys are not those of %s. "+
			"Rotate them in your own files: add the new public key beside the old one, then switch to the new private key, "+
			"and remove the old public key when kubelets have renewed all tokens.", name, s.fileFlag, r.Base).At(s.at).For(c.Target)}
	}
	if r.Held == "" {
		return lateSecrets(c)
	}
	more := ""
	if len(r.Secrets) > 0 {
		more = "\n\nSecrets with tokens of the old key, which are not renewed automatically: " + strings.Join(r.Secrets, ", ") +
			". Delete them, recreate those that are needed, and update the clients that use their tokens."
	}
	return at(diag.Warningf("Rotation is paused", "%s: tokens have been signed with the new key since %s. The old one is dropped by the first apply after %s. "+
		"Until then tokens of both are accepted, and nothing else has to wait. To drop it at once, and with it the tokens that it has signed: "+
		"%s%s", name, pki.Date(r.Since), r.Held, remedy.Apply.With(remedy.Option{Kind: remedy.SkipPhase, Value: topology.TokenPausePhase}), more))
}

// lateSecrets warns of tokens that are not renewed automatically.
func lateSecrets(c *topology.Cluster) diag.Diagnostics {
	r := c.Keys
	if len(r.Secrets) == 0 {
		return nil
	}
	ends := "They are accepted until the old key is dropped, which waits for them"
	if r.Due {
		ends = "They are no longer accepted when this plan is done"
	}
	return diag.Diagnostics{diag.Warningf("Service account tokens in Secrets are not renewed", "%s: Secrets of the type kubernetes.io/service-account-token hold tokens of the old key: %s. "+
		"%s. When the new key signs everywhere, delete them, recreate those that are needed, and update the clients that use their tokens.",
		topology.Rotation{Cluster: c.Target, CA: serviceAccount}, strings.Join(r.Secrets, ", "), ends).At(c.Source).For(c.Target)}
}

// endKeyRotation removes the files of the rotation.
func endKeyRotation(n *topology.Node) []planner.Operation {
	r := n.Cluster.Keys
	return tokenPair(n.ServiceAccountKey()).end(n, r != nil && r.Due && n.Cluster.Rotates(), r == nil)
}
