package store

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// PodToken is the service account token of an object's pods.
type PodToken struct {
	// Key is the identity of the key that signed it, Issued the time of the signature.
	Key    string    `json:"key"`
	Issued time.Time `json:"issued"`
}

// IsTokenSecret reports whether an object is a Secret with the token of a service account.
func IsTokenSecret(live state.Value) bool {
	return live.Get("kind").AsString() == "Secret" && live.Get("type").AsString() == "kubernetes.io/service-account-token"
}

// TokenSecrets returns the Secrets with tokens.
func (d *Data) TokenSecrets() []state.TokenSecret {
	var out []state.TokenSecret
	for _, key := range slices.Sorted(maps.Keys(d.Objects)) {
		if o := d.Objects[key]; IsTokenSecret(o.Live) {
			s := state.TokenSecret{Namespace: o.Live.Get("metadata.namespace").AsString(), Name: o.Name()}
			if o.Token != nil {
				s.Key = o.Token.Key
			}
			out = append(out, s)
		}
	}
	return out
}

// TokenPrefix is the prefix of the keys of bootstrap tokens' Secrets.
const TokenPrefix = "v1/Secret/kube-system/bootstrap-token-"

// TokenField returns a key of a bootstrap token's Secret.
func (o *Object) TokenField(key string) string {
	if s := o.Live.Get("stringData").Get(state.JoinPath("", key)).AsString(); s != "" {
		return s
	}
	plain, err := base64.StdEncoding.DecodeString(o.Live.Get("data").Get(state.JoinPath("", key)).AsString())
	if err != nil {
		return ""
	}
	return string(plain)
}

// JoinTokens lists the IDs of the tokens that were created for joins, in order.
func (d *Data) JoinTokens() []string {
	var ids []string
	for _, key := range d.Keys(TokenPrefix) {
		if planner.IsJoinToken(d.Objects[key].TokenField("description")) {
			ids = append(ids, strings.TrimPrefix(key, TokenPrefix))
		}
	}
	return ids
}

// CollectGarbage deletes the dependents of a deleted owner, as the garbage collector does.
func (d *Data) CollectGarbage(owner string) {
	for key, o := range d.Objects {
		for _, ref := range o.Live.Get("metadata.ownerReferences").AsList() {
			if owner != "" && ref.Get("uid").AsString() == owner {
				delete(d.Objects, key)
			}
		}
	}
}
