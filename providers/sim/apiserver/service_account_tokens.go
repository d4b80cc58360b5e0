package apiserver

import (
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
)

// tokenRenewal is the maximum age of a pod's token: kubelets renew it after 24 hours, or
// after 80 % of its validity.
const tokenRenewal = 24 * time.Hour

// The flags of the keys that sign and verify tokens.
const (
	FlagVerify     = "service-account-key-file"
	FlagSign       = "service-account-signing-key-file"
	FlagSignLegacy = "service-account-private-key-file"
)

// issueTokens gives the pods of an object a token from one of their API servers. If none
// answers they keep what they have.
func (a API) issueTokens(o *store.Object) {
	for _, m := range a.servers.StaticPodHosts() {
		running, p := m.Processes().Pod(staticpod.APIServer)
		if running == nil || a.servers.Fault(m, staticpod.APIServer) != nil || len(running.Trusts[FlagSign]) == 0 {
			continue
		}
		if s, err := a.servers.StorageOf(m, p); err == nil && s == a.c {
			o.Token = &store.PodToken{Key: running.Trusts[FlagSign][0], Issued: a.servers.Now}
			return
		}
	}
}

// RenewTokens replaces tokens that are too old, as kubelets do.
func (a API) RenewTokens() {
	for _, key := range slices.Sorted(maps.Keys(a.c.Objects)) {
		if o := a.c.Objects[key]; o.Token != nil && !store.IsTokenSecret(o.Live) && !a.servers.Now.Before(o.Token.Issued.Add(tokenRenewal)) {
			a.issueTokens(o)
		}
	}
}

// signSecret adds a token to a Secret that requests one, as controller managers do.
func (s *Servers) signSecret(o *store.Object) {
	for _, m := range s.StaticPodHosts() {
		if running, _ := m.Processes().Pod(staticpod.ControllerManager); running != nil && s.Fault(m, staticpod.ControllerManager) == nil && len(running.Trusts[FlagSignLegacy]) > 0 {
			o.Token = &store.PodToken{Key: running.Trusts[FlagSignLegacy][0], Issued: s.Now}
			return
		}
	}
}
