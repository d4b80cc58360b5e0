package phases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// The service account keys are rotated in the stages of a CA:
//
//   - trust-both: a new pair is made beside the old one, and every API server
//     believes tokens of both: the old public key is the first of sa.pub.
//   - reissue: API servers and controller managers sign with the new one.
//   - drop-old: the new public key is alone in sa.pub.
//
// Between the last two pods have to get new tokens. Their kubelets see to that
// within a day, so that no apply waits for it: the first one after that drops the
// old key. Until then the cluster may change as it likes; who joins gets both keys, and
// the new pair beside them: those who have begun may all have left by the end.
const serviceAccount = "service-account"

// tokenAge is how long after the last API server has begun to sign with another
// key a pod may have a token of the former one. A kubelet renews a token that is
// older than 24 hours, whatever its validity is (pkg/kubelet/token, maxTTL); the
// rest is for hosts whose clocks differ, and for kubelets that were not running.
const tokenAge = 25 * time.Hour

// keyRotation is the pair of service account keys on its way to its successor.
type keyRotation struct {
	// base is the pair's path without .key and .pub.
	base string
	// source is the control plane that has the new pair, or is to make it.
	source state.Target
	// old and new are the identities of the public keys; new is empty as long as
	// the pair is to be made.
	old, new string
	// begun tells that the new pair is there and somebody believes it, signing that
	// somebody signs with it, signed that all do, and dropping that somebody does
	// not believe the old one any more.
	begun, signing, signed, dropping bool
	// since is when the last API server began to sign with the new one.
	since time.Time
	// secrets are the names of Secrets with tokens that the old one has signed.
	secrets []string
	// due tells that the old one is dropped in this plan, and held why not although
	// it could be.
	due  bool
	held string
}

func (r *keyRotation) next() string    { return r.base + "-next" }
func (r *keyRotation) oldFile() string { return r.base + "-old.pub" }

// keyRotationPaths are the files of a rotation of the keys, in the order in which they go.
func keyRotationPaths(base string) []string {
	return []string{base + "-old.pub", base + "-next.key", base + "-next.pub"}
}

// keyRotationQuery asks for the service account keys and the files of their rotation.
func (n *node) keyRotationQuery(q *state.Query) {
	base := n.serviceAccountKey()
	for _, p := range []string{base + ".pub", base + "-old.pub", base + "-next.pub"} {
		q.Files = append(q.Files, state.FileQuery{Path: p, Read: state.ReadPublicKeys})
	}
	q.Files = append(q.Files, state.FileQuery{Path: base + ".key", Read: state.ReadKey}, state.FileQuery{Path: base + "-next.key", Read: state.ReadDigest})
}

// AsksForTokens tells that the API is to be asked for Secrets with tokens: the
// rotation of the service account keys is asked for, or was seen on the control
// plane that is asked. One that has lost the new pair still has both keys in
// the file of those that are believed. Nobody else wants to know, and what is read
// are secrets.
func AsksForTokens(cfg *config.Config, label string, rotate []Rotation, seen *state.Report) bool {
	if slices.Contains(rotate, Rotation{state.ClusterTarget(label), serviceAccount}) {
		return true
	}
	c := cfg.Cluster(label)
	if c == nil {
		return false
	}
	base := c.Certificates.Dir + "/sa"
	return seen.Files[base+"-next.pub"].Exists || len(seen.Files[base+".pub"].PublicKeys) > 1
}

func (n *node) publicKeys(path string) []string {
	if n.report == nil {
		return nil
	}
	return n.report.Files[path].PublicKeys
}

// holdsKey tells that the private key of a path is the one of another path on
// another control plane.
func (n *node) holdsKey(path string, other *node, there string) bool {
	f, o := n.report.Files[path], other.report.Files[there]
	return f.Exists && o.Exists && f.SHA256 != "" && f.SHA256 == o.SHA256
}

// keyPlanes are the control planes that have service account keys, the seat first.
func (c *cluster) keyPlanes() []*node {
	return slices.DeleteFunc(c.inOrder(), func(n *node) bool {
		return n.report == nil || !n.report.Files[n.serviceAccountKey()+".pub"].Exists
	})
}

// inOrder are the control planes, the seat first.
func (c *cluster) inOrder() []*node {
	out := slices.Clone(c.controlPlanes())
	slices.SortStableFunc(out, func(a, b *node) int { return boolOrder(b.target == c.seat) - boolOrder(a.target == c.seat) })
	return out
}

// keyRotation finds the rotation of the service account keys that is on its way,
// or asked for; nil when there is none.
func (c *cluster) keyRotation() *keyRotation {
	seat := c.seatNode()
	if c.founding || c.view.Destroy || seat == nil || seat.report == nil {
		return nil
	}
	r := &keyRotation{base: seat.serviceAccountKey(), source: c.seat}
	r.find(c)
	if !r.begun && !c.requested(serviceAccount) {
		return nil
	}
	r.dueIn(c)
	return r
}

// find sees how far the rotation has come.
func (r *keyRotation) find(c *cluster) {
	planes := c.keyPlanes()
	trusted := func(key string) bool {
		return slices.ContainsFunc(planes, func(n *node) bool { return slices.Contains(n.publicKeys(r.base+".pub"), key) })
	}
	var source *node
	for _, n := range planes {
		// A key that nobody believes may be anybody's.
		next := n.publicKeys(r.next() + ".pub")
		if len(next) > 0 && n.report.Files[r.next()+".key"].Exists && trusted(next[0]) {
			source, r.source, r.new, r.begun = n, n.target, next[0], true
			break
		}
	}
	for _, n := range planes {
		for _, path := range []string{r.oldFile(), r.base + ".pub"} {
			if keys := n.publicKeys(path); len(keys) > 0 && keys[0] != r.new && r.old == "" {
				r.old = keys[0]
			}
		}
	}
	if !r.begun {
		return
	}
	r.signed = true
	for _, n := range planes {
		r.dropping = r.dropping || slices.Equal(n.publicKeys(r.base+".pub"), []string{r.new})
		if !n.holdsKey(r.base+".key", source, r.next()+".key") {
			r.signed = false
			continue
		}
		r.signing = true
		r.signed = r.signed && !slices.ContainsFunc(keyReaders, func(component string) bool { return n.report.Outdated(component, r.base+".key") })
		for _, at := range []time.Time{n.report.Files[r.base+".key"].Modified, n.report.Started["kube-apiserver"]} {
			if at.After(r.since) {
				r.since = at
			}
		}
	}
}

// keyReaders are the components that sign with the private key.
var keyReaders = []string{"kube-apiserver", "kube-controller-manager"}

// dueIn sees whether the old key can be dropped.
func (r *keyRotation) dueIn(c *cluster) {
	if c.report != nil {
		for _, s := range c.report.TokenSecrets {
			// Of a token that does not say its key nobody knows that it is another one's.
			if s.Key == "" || s.Key == r.old {
				r.secrets = append(r.secrets, s.Namespace+"/"+s.Name)
			}
		}
	}
	switch {
	case r.dropping:
		r.due = true
	case !r.signed:
	case c.report == nil:
		r.held = "the API answers"
	case slices.Contains(c.view.skipped, tokenPausePhase):
		r.due = true
	case c.view.ObservedAt.Before(r.since.Add(tokenAge)):
		r.held = date(r.since.Add(tokenAge)) + ", when kubelets have renewed the tokens of all pods"
	case !c.report.TokensSeen:
		r.held = "the Secrets with tokens were seen"
	case len(r.secrets) > 0:
		r.held = "no Secret holds a token of the old key"
	case c.disturbed() != nil:
		r.held = "nothing else of the cluster changes (" + c.disturbed().why + ")"
	default:
		r.due = true
	}
}

// takesPart tells that the keys have something left to do in a stage of this plan.
func (r *keyRotation) takesPart(stage string) bool {
	switch {
	case r == nil:
		return false
	case stage == trustBoth:
		return !r.signing && !r.dropping
	case stage == reissue:
		return !r.signed && !r.dropping
	}
	return r.due
}

// lasts tells that the rotation is not over when this plan is done: who is brought the
// keys is brought the new pair as well.
func (r *keyRotation) lasts() bool { return r != nil && r.begun && !r.due }

// acts tells that this plan goes on with the rotation.
func (r *keyRotation) acts() bool {
	return r.takesPart(trustBoth) || r.takesPart(reissue) || r.takesPart(dropOld)
}

// writes tells that a file is written in a stage.
func (r *keyRotation) writes(stage, path string) bool {
	return r.takesPart(stage) && (path == r.base+".key" || path == r.base+".pub")
}

// keys are the operations on a control plane's service account keys.
func (s *rotationStage) keys(n *node) []planner.Operation {
	r := s.cluster().keys
	if !r.takesPart(s.name) {
		return nil
	}
	switch s.name {
	case trustBoth:
		return r.trust(n)
	case reissue:
		if r.begun && n.holdsKey(r.base+".key", s.cluster().node(r.source), r.next()+".key") {
			return nil
		}
		return []planner.Operation{r.bring(planner.SecretFile{Path: r.base + ".key", Source: r.next() + ".key"})}
	}
	if r.begun && slices.Equal(n.publicKeys(r.base+".pub"), []string{r.new}) {
		return nil
	}
	return []planner.Operation{r.bring(planner.SecretFile{Path: r.base + ".pub", Source: r.next() + ".pub"})}
}

// bring copies files of the control plane that has the new pair.
func (r *keyRotation) bring(files ...planner.SecretFile) planner.Operation {
	for i := range files {
		files[i].Mode, files[i].Owner = keyMode, root
	}
	return planner.CopySecrets{From: r.source, Files: files}
}

// bringNext brings the new pair itself.
func (r *keyRotation) bringNext() planner.Operation {
	return r.bring(planner.SecretFile{Path: r.next() + ".key"}, planner.SecretFile{Path: r.next() + ".pub"})
}

// trust makes the new pair, or brings it, and puts its public key behind the old one.
func (r *keyRotation) trust(n *node) []planner.Operation {
	believed := n.publicKeys(r.base + ".pub")
	present := r.begun && slices.Contains(n.publicKeys(r.next()+".pub"), r.new) && n.report.Files[r.next()+".key"].Exists
	if present && slices.Contains(believed, r.old) && slices.Contains(believed, r.new) && n.report.Files[r.oldFile()].Exists {
		return nil
	}
	var ops []planner.Operation
	switch {
	case present:
	case n.target == r.source:
		ops = append(ops, planner.IssueKeyPair{Algorithm: n.algorithm(), To: r.next()})
	default:
		ops = append(ops, r.bringNext())
	}
	return append(ops,
		planner.BundleTrust{To: r.oldFile(), Of: []string{r.base + ".pub"}},
		planner.BundleTrust{To: r.base + ".pub", Of: []string{r.oldFile(), r.next() + ".pub"}})
}

// describe says what becomes of a control plane's service account keys.
func (r *keyRotation) describe(stage string) string {
	switch stage {
	case trustBoth:
		return "has tokens of a new service account key believed beside those of the old one"
	case reissue:
		return "has tokens signed with the new service account key"
	}
	return "has tokens of the old service account key believed no more"
}

// sentence is what a plan says of the rotation.
func (r *keyRotation) sentence(c *cluster) string {
	name := Rotation{c.target, serviceAccount}.String()
	later := fmt.Sprintf("the first apply %d hours after that drops the old one, when kubelets have renewed the tokens of all pods", int(tokenAge.Hours()))
	switch {
	case r.due:
		return name + ": tokens of the old key are believed no more."
	case r.begun:
		return name + ": has begun, and goes on until all sign with the new key; " + later + "."
	}
	return name + ": everybody believes both keys, then signs with the new one; " + later + "."
}

// checkKeys refuses a rotation of the service account keys that cannot be done,
// and says what one waits for.
func (c *cluster) checkKeys() diag.Diagnostics {
	r := c.keys
	if r == nil {
		return nil
	}
	at := func(d *diag.Diagnostic) diag.Diagnostics { return diag.Diagnostics{d.At(c.Source).For(c.target)} }
	name := Rotation{c.target, serviceAccount}
	for _, n := range c.keyPlanes() {
		f := n.report.Files[r.base+".pub"]
		switch {
		case r.begun:
		case len(f.PublicKeys) == 0:
			return diag.Diagnostics{diag.Errorf("Service account key cannot be read", "%s: %s.pub of %s (%s): %s. Nothing is changed. "+
				"Copy it from another control plane, or make it of the private key (openssl pkey -in %s.key -pubout), and restart the API server.", name, r.base, n.target, n.Address, f.Invalid, r.base).At(n.Source).For(n.target)}
		case len(f.PublicKeys) > 1:
			return diag.Diagnostics{diag.Errorf("File has several keys", "%s: %s.pub of %s (%s) has %d public keys. Rotating them would leave the new one alone in it. Nothing is changed. "+
				"Leave only the key with which tokens are signed in that file, on every control plane, and have the API servers read it.", name, r.base, n.target, n.Address, len(f.PublicKeys)).At(n.Source).For(n.target)}
		}
	}
	if stray := c.strayFlags(serviceAccount); len(stray) > 0 {
		s := stray[0]
		return diag.Diagnostics{diag.Errorf("Service account keys are yours", "%s: the configuration gives %s a value of its own, so the keys are not those of %s. Nothing is changed. "+
			"Rotate them by your own files: give the new public key beside the old one, then the new private key, and when kubelets have renewed all tokens take the old public key out.", name, s.fileFlag, r.base).At(s.at).For(c.target)}
	}
	if r.held == "" {
		return c.lateSecrets()
	}
	more := ""
	if len(r.secrets) > 0 {
		more = "\n\nSecrets with tokens of the old key, which nobody renews: " + strings.Join(r.secrets, ", ") +
			". Delete them, make those anew that are needed, and give their tokens to whoever uses them."
	}
	return at(diag.Warningf("Rotation waits", "%s: tokens are signed with the new key since %s. The old one is dropped by the first apply after %s. Until then tokens of both are believed, and nothing else has to wait."+
		" To drop it at once, and with it the tokens that it has signed: kubewright apply -skip-phase=%s%s", name, date(r.since), r.held, tokenPausePhase, more))
}

// lateSecrets names the tokens that nobody renews.
func (c *cluster) lateSecrets() diag.Diagnostics {
	r := c.keys
	if len(r.secrets) == 0 {
		return nil
	}
	ends := "They are believed until the old key is dropped, which waits for them"
	if r.due {
		ends = "They are believed no more when this plan is done"
	}
	return diag.Diagnostics{diag.Warningf("Tokens are not renewed", "%s: Secrets of the type kubernetes.io/service-account-token hold tokens of the old key: %s. %s. "+
		"When all sign with the new key, delete them, make those anew that are needed, and give their tokens to whoever uses them.",
		Rotation{c.target, serviceAccount}, strings.Join(r.secrets, ", "), ends).At(c.Source).For(c.target)}
}

// endKeyRotation takes the files of the rotation away.
func (n *node) endKeyRotation() []planner.Operation {
	base, r := n.serviceAccountKey(), n.cluster.keys
	next := n.publicKeys(base + "-next.pub")
	left := r == nil && len(next) > 0 && slices.Equal(next, n.publicKeys(base+".pub"))
	ends := r != nil && r.due && n.cluster.rotates()
	var ops []planner.Operation
	for _, path := range keyRotationPaths(base) {
		if ends || left && n.report.Files[path].Exists {
			ops = append(ops, planner.RemovePath{Path: path})
		}
	}
	return ops
}
