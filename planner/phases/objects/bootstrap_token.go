package objects

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Tokens of bootstrap_token blocks stay until they expire, unlike those that are made for a join.
// Kubernetes removes an expired token, and that is no drift.

// KeptTokens returns the tokens of the configuration's blocks with their IDs.
func KeptTokens(c *topology.Cluster) map[string]config.BootstrapToken {
	out := map[string]config.BootstrapToken{}
	var generated []config.BootstrapToken
	for _, t := range c.BootstrapTokens {
		if id, _, given := strings.Cut(string(t.Token.Reveal()), "."); given {
			out[id] = t
		} else {
			generated = append(generated, t)
		}
	}
	if len(generated) == 0 {
		return out
	}
	ids := stayingIDs(c, generated, out)
	for n := 1; slices.Contains(ids, ""); n++ {
		id := generatedID(c.Label, n)
		if _, named := out[id]; !named && !slices.Contains(ids, id) {
			ids[slices.Index(ids, "")] = id
		}
	}
	for i, id := range ids {
		out[id] = generated[i]
	}
	return out
}

// stayingIDs returns the recorded IDs of generated tokens for the blocks without a value; empty for
// additional blocks. Blocks have no names: a block keeps the token that was made with the same
// settings, else the one at its position, else any. So tokens in use stay when another block is removed
// or their cluster is renamed.
func stayingIDs(c *topology.Cluster, blocks []config.BootstrapToken, given map[string]config.BootstrapToken) []string {
	out := make([]string, len(blocks))
	if c.Fleet.Recorded == nil {
		return out
	}
	free := map[string]state.Value{}
	for _, it := range topology.RecordedItems(c.Fleet.Recorded, c.Target) {
		id := TokenID(it.Address)
		if _, named := given[id]; id != "" && !named && it.Attributes.Get("secret").IsNull() {
			free[id] = it.Attributes
		}
	}
	for _, fits := range []func(i int, id string) bool{
		func(i int, id string) bool { return state.FromGo(wantedToken(blocks[i])).Equal(free[id]) },
		func(i int, id string) bool { return id == generatedID(c.Label, i+1) },
		func(int, string) bool { return true },
	} {
		for i := range blocks {
			for _, id := range slices.Sorted(maps.Keys(free)) {
				if out[i] == "" && fits(i, id) {
					out[i] = id
					delete(free, id)
				}
			}
		}
	}
	return out
}

// generatedID returns the ID of the n-th token without a value. A token's ID is no secret, and a plan
// has to name what it creates: the ID derives from the block's position, and only the second half is
// random.
func generatedID(cluster string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	sum := sha256.Sum256(fmt.Appendf(nil, "kubewright/bootstrap-token/%s/%d", cluster, n))
	id := make([]byte, 6)
	for i := range id {
		id[i] = letters[int(sum[i])%len(letters)]
	}
	return string(id)
}

func tokenRef(id string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "kube-system", Name: tokenName + id}
}

const tokenName = "bootstrap-token-"

// TokenID returns the ID of the token that an item of this phase refers to; "" for any other object.
func TokenID(a state.Address) string {
	if a.Phase != topology.TokenPhase {
		return ""
	}
	id, ok := strings.CutPrefix(a.Item, "object:"+tokenRef("").String())
	if !ok {
		return ""
	}
	return id
}

// tokenItems returns the desired tokens.
func tokenItems(c *topology.Cluster) []state.Item {
	var out []state.Item
	for id, t := range KeptTokens(c) {
		m := wantedToken(t)
		it := state.Item{
			Address: topology.ItemAddress(c.Target, topology.TokenPhase, "object", tokenRef(id).String()), Kind: state.KindObject,
			Expires: lifetime(t) != forever, Origin: map[string]state.Source{"": t.Source},
		}
		if !t.Token.IsZero() {
			_, secret, _ := strings.Cut(string(t.Token.Reveal()), ".")
			m["secret"] = secret
			it.Content = topology.Must(json.Marshal(map[string]string{"secret": secret}))
		}
		it.Attributes = state.FromGo(m)
		out = append(out, it)
	}
	slices.SortFunc(out, func(a, b state.Item) int { return a.Address.Compare(b.Address) })
	return out
}

// wantedToken returns the settings of a block except its value.
func wantedToken(t config.BootstrapToken) map[string]any {
	m := map[string]any{"usages": topology.Sorted(t.Usages), "lifetime": lifetime(t)}
	topology.AddList(m, "groups", t.Groups)
	if t.Description != "" {
		m["description"] = t.Description
	}
	return m
}

const forever = "for ever"

// lifetime describes how long a token is to live. Items record that, since the time of its end is known
// only when the token is made.
func lifetime(t config.BootstrapToken) string {
	switch {
	case t.Expires != "":
		return "until " + utc(t.Expires)
	case t.TTL > 0:
		return t.TTL.String()
	}
	return forever
}

// utc returns a time in Kubernetes' format.
func utc(moment string) string {
	t, err := time.Parse(time.RFC3339, moment)
	if err != nil {
		return moment
	}
	return t.UTC().Format(time.RFC3339)
}

// TokenAttributes returns the attributes of an observed token. A lifetime relative to its creation
// cannot be observed: the recorded one, or else the desired one, is used.
func TokenAttributes(v *topology.Fleet, it *state.Item, object state.Value) state.Value {
	field := func(key string) string {
		plain, err := base64.StdEncoding.DecodeString(object.Get("data").AsMap()[key].AsString())
		if err != nil {
			return ""
		}
		return string(plain)
	}
	m := map[string]any{}
	usages := []string{}
	for _, key := range object.Get("data").Keys() {
		if usage, ok := strings.CutPrefix(key, "usage-bootstrap-"); ok && field(key) == "true" {
			usages = append(usages, usage)
		}
	}
	m["usages"] = topology.Sorted(usages)
	if groups := field("auth-extra-groups"); groups != "" {
		topology.AddList(m, "groups", strings.Split(groups, ","))
	}
	for _, key := range []string{"description"} {
		if text := field(key); text != "" {
			m[key] = text
		}
	}
	if !it.Attributes.Get("secret").IsNull() {
		m["secret"] = field("token-secret")
	}
	m["lifetime"] = seenLifetime(v, it, field("expiration"))
	return state.FromGo(m)
}

func seenLifetime(v *topology.Fleet, it *state.Item, expiration string) string {
	wanted := it.Attributes.Get("lifetime").AsString()
	if was := v.RecordedItems.Find(it.Address); was != nil {
		wanted = was.Attributes.Get("lifetime").AsString()
	}
	switch {
	case expiration == "":
		return forever
	case wanted == forever || strings.HasPrefix(wanted, "until "):
		return "until " + utc(expiration)
	}
	return wanted
}

// makeToken returns the operation that creates the token of a changed item.
func makeToken(c *topology.Cluster, it *state.Item) planner.Operation {
	id := TokenID(it.Address)
	t := KeptTokens(c)[id]
	op := planner.CreateToken{ID: id, Description: t.Description, TTL: t.TTL, Usages: t.Usages, Groups: t.Groups}
	if t.Expires != "" {
		op.TTL, op.Expires = 0, utc(t.Expires)
	}
	if !it.Sealed.IsZero() {
		op.Token = it.Outline.Get("secret").AsSensitive()
	}
	return op
}
