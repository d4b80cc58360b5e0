package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// podToken is the token of a service account that the pods of an object have.
type podToken struct {
	// Key is the identity of the key that has signed it, Issued when.
	Key    string    `json:"key"`
	Issued time.Time `json:"issued"`
}

// tokenRenewal is how old a pod's token gets at most: kubelets renew one of
// 24 hours, or of 80 % of its validity.
const tokenRenewal = 24 * time.Hour

// The flags of who signs tokens, and who verifies them.
const (
	flagVerify     = "service-account-key-file"
	flagSign       = "service-account-signing-key-file"
	flagSignLegacy = "service-account-private-key-file"
)

// issueTokens gives the pods of an object a token of an API server of theirs.
// When none answers they keep what they have.
func (w *World) issueTokens(c *cluster, o *object) {
	for _, address := range sortedKeys(w.planes) {
		m := w.d.Hosts[address]
		running, p := w.podOf(m, compAPI)
		if running == nil || w.fault(m, compAPI) != nil || len(running.Trusts[flagSign]) == 0 {
			continue
		}
		if s, err := w.etcdOf(m, p); err == nil && s == c {
			o.Token = &podToken{Key: running.Trusts[flagSign][0], Issued: w.d.Now}
			return
		}
	}
}

// renewTokens is what kubelets do about tokens that are too old.
func (w *World) renewTokens(c *cluster) {
	for _, key := range sortedKeys(c.Objects) {
		if o := c.Objects[key]; o.Token != nil && !isTokenSecret(o.Live) && !w.d.Now.Before(o.Token.Issued.Add(tokenRenewal)) {
			w.issueTokens(c, o)
		}
	}
}

func isTokenSecret(live state.Value) bool {
	return live.Get("kind").AsString() == "Secret" && live.Get("type").AsString() == "kubernetes.io/service-account-token"
}

// signSecret is what a controller manager does about a Secret that wants a token.
func (w *World) signSecret(o *object) {
	for _, address := range sortedKeys(w.planes) {
		m := w.d.Hosts[address]
		if running, _ := w.podOf(m, compController); running != nil && w.fault(m, compController) == nil && len(running.Trusts[flagSignLegacy]) > 0 {
			o.Token = &podToken{Key: running.Trusts[flagSignLegacy][0], Issued: w.d.Now}
			return
		}
	}
}

// tokenSecrets returns the Secrets with tokens.
func (c *cluster) tokenSecrets() []state.TokenSecret {
	var out []state.TokenSecret
	for _, key := range sortedKeys(c.Objects) {
		if o := c.Objects[key]; isTokenSecret(o.Live) {
			s := state.TokenSecret{Namespace: o.Live.Get("metadata.namespace").AsString(), Name: o.name()}
			if o.Token != nil {
				s.Key = o.Token.Key
			}
			out = append(out, s)
		}
	}
	return out
}

// tokenDistrust: the tokens that an API server does not believe.
func (w *World) tokenDistrust(m *machine, running *pod, p *manifest, say func(string, ...any)) {
	believed := running.Trusts[flagVerify]
	believes := func(keys []string) bool {
		return len(keys) == 0 || len(believed) == 0 || slices.Contains(believed, keys[0])
	}
	w.each(compAPI, func(other *machine, signs *pod, _ *manifest) {
		if !believes(signs.Trusts[flagSign]) {
			say("kube-apiserver on %s does not believe tokens of kube-apiserver on %s", m.address, other.address)
		}
	})
	w.each(compController, func(other *machine, signs *pod, _ *manifest) {
		if !believes(signs.Trusts[flagSignLegacy]) {
			say("kube-apiserver on %s does not believe tokens of kube-controller-manager on %s", m.address, other.address)
		}
	})
	c, err := w.etcdOf(m, p)
	if err != nil {
		return
	}
	for _, key := range sortedKeys(c.Objects) {
		if o := c.Objects[key]; o.Token != nil && !believes([]string{o.Token.Key}) {
			say("kube-apiserver on %s does not believe the token of %s", m.address, strings.TrimPrefix(key, "apps/v1/"))
		}
	}
}
