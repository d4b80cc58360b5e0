package phases

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Observed turns reports into items: for every address that is desired or
// recorded, what the host, the API or etcd shows of it.
func (v *View) Observed(desired, recorded *state.Snapshot) *state.Snapshot {
	out := &state.Snapshot{Facts: map[state.Target]*state.Facts{}, Items: make([]state.Item, 0, len(desired.Items))}
	for t, r := range v.Reports {
		out.Facts[t] = &r.Facts
	}
	for _, u := range v.Unobserved {
		out.Unobserved = append(out.Unobserved, u)
	}
	seen := make(map[state.Address]bool, len(desired.Items))
	for _, s := range []*state.Snapshot{desired, recorded} {
		for i := range s.Items {
			it := &s.Items[i]
			// What is let go of is not looked for: it is forgotten, not taken away.
			if seen[it.Address] || s == recorded && letGo(it.Address) {
				continue
			}
			seen[it.Address] = true
			if attrs, ok := v.observe(it); ok {
				like := []state.Value{it.Attributes}
				if was := recorded.Find(it.Address); was != nil {
					like = append(like, was.Attributes)
				}
				out.Items = append(out.Items, recordable(*it))
				out.Items[len(out.Items)-1].Attributes = v.cover(it, attrs, like...)
			}
		}
	}
	for _, c := range v.clusters {
		if c.founding {
			continue
		}
		if c.report == nil {
			out.Unobserved = append(out.Unobserved, c.darkTargets()...)
		} else if c.report.Members == nil && c.Etcd.External == nil {
			for _, n := range c.controlPlanes() {
				out.Unobserved = append(out.Unobserved, state.Unobserved{Target: n.target, Class: "member", Reason: c.report.EtcdUnobserved})
			}
		}
	}
	slices.SortFunc(out.Unobserved, func(a, b state.Unobserved) int {
		return state.Address{Target: a.Target}.Compare(state.Address{Target: b.Target})
	})
	out.Sort()
	return out
}

// darkTargets are the cluster and its addons, when the API does not answer.
func (c *cluster) darkTargets() []state.Unobserved {
	reason := "the API did not answer"
	if c.replacesAtOnce() {
		reason = "its CA has ended, so that the API is not trusted"
	}
	if e := c.view.ClusterErrors[c.Label]; e != "" {
		reason += ": " + e
	}
	out := []state.Unobserved{{Target: c.target, Reason: reason}}
	configured, gone := c.addonTargets()
	for _, t := range slices.Concat(configured, gone) {
		out = append(out, state.Unobserved{Target: t, Reason: reason})
	}
	for _, n := range c.nodes {
		for _, class := range []string{"node", "member"} {
			out = append(out, state.Unobserved{Target: n.target, Class: class, Reason: reason})
		}
	}
	return out
}

// observe looks an item up; false means that it is not there.
func (v *View) observe(it *state.Item) (state.Value, bool) {
	switch it.Kind {
	case state.KindObject, state.KindNodeObject, state.KindEtcdMember:
		return v.observeInCluster(it)
	}
	r := v.Reports[it.Address.Target]
	if r == nil {
		return state.Value{}, false
	}
	return v.observeOnHost(it, r)
}

func (v *View) observeOnHost(it *state.Item, r *state.Report) (state.Value, bool) {
	id, now := it.Address.ID(), v.ObservedAt
	switch it.Kind {
	case state.KindFile, state.KindYAMLFile, state.KindEnvFile:
		return v.observeFile(it, r.Files[id])
	case state.KindStaticPod:
		attrs, ok := v.observeFile(it, r.Files[id])
		if n := v.find(it.Address.Target); n != nil && ok {
			attrs = n.withStale(id, attrs)
		}
		return attrs, ok
	case state.KindDirectory:
		f := r.Files[id]
		return attributes("mode", f.Mode, "owner", f.Owner), f.Exists
	case state.KindKey:
		f := r.Files[id]
		mode, owner := access(f, it.Attributes.Get("mode"), it.Attributes.Get("owner"))
		if f.Type == "link" && f.Target == "" && f.Invalid == "" {
			f.Invalid = "a symbolic link that leads to no file"
		}
		if f.Invalid != "" {
			return attributes("mode", mode, "owner", owner, "invalid", f.Invalid), f.Exists
		}
		return attributes("mode", mode, "owner", owner), f.Exists
	case state.KindCertificate:
		f := r.Files[certificateFile(it)]
		if id == kubeletClientCert {
			return v.withLost(it, v.observeKubeletCertificate(it, f), f), true
		}
		attrs, ok := observeCertificate(it, f, now)
		if ok {
			attrs = observeKeyAccess(it, v.withLostKey(it, v.withLost(it, attrs, f), r), r)
		}
		return attrs, ok
	case state.KindKubeconfig:
		attrs, ok := observeKubeconfig(it, r.Files[id], now)
		if n := v.find(it.Address.Target); n != nil && ok {
			if id == kubeletConf && n.isControlPlane() && n.bootstraps() {
				return state.Value{}, false // its kubelet writes it anew, for another server
			}
			attrs = n.withOldCopy(id, attrs)
		}
		return v.withLost(it, attrs, r.Files[id]), ok
	case state.KindBinary:
		f := r.Files[id]
		return attributes("sha256", f.SHA256, "mode", f.Mode, "owner", f.Owner), f.Exists
	case state.KindUnit:
		u := r.Units[id]
		return v.observeUnit(it, u), u.Exists
	case state.KindPackage:
		return observePackage(it, r.Packages.Installed[id])
	case state.KindImage:
		return attributes("present", true), slices.Contains(r.Images, id)
	case state.KindSysctl:
		value, ok := r.Sysctls[id]
		return attributes("value", value), ok
	case state.KindModule:
		return attributes("loaded", true), r.Modules[id]
	case state.KindSwap:
		return attributes("on", r.Facts.Swap, "at_boot", r.Facts.SwapAtBoot), true
	case state.KindMark:
		if r.Marks == nil {
			return state.Value{}, false
		}
		return attributes("cluster", r.Marks.Cluster, "node", r.Marks.Node.String()), true
	}
	panic(fmt.Sprintf("internal error: nobody observes items of kind %s", it.Kind))
}

// fileAttributes parses a file's content in the way of the item's kind. The
// desired side goes through it as well, so that equal files have equal attributes.
func (v *View) fileAttributes(kind state.Kind, content []byte, mode, owner string) (state.Value, error) {
	tree, err := v.memo.tree(kind, content)
	if err != nil {
		return state.Value{}, err
	}
	m := map[string]state.Value{"mode": state.String(mode), "owner": state.String(owner)}
	maps.Copy(m, tree.AsMap())
	return state.Map(m), nil
}

func parseFile(kind state.Kind, content []byte) (state.Value, error) {
	switch kind {
	case state.KindStaticPod:
		tree, err := kubeadm.StaticPodAttributes(content)
		if err != nil {
			return state.Value{}, err
		}
		// What an etcd member was founded or joined with is of no use once it has
		// data (etcd ignores it), and kubeadm upgrade rewrites it.
		return withoutArgs(tree, "initial-cluster", "initial-cluster-state"), nil
	case state.KindYAMLFile:
		return kubeadm.YAMLAttributes(content)
	case state.KindEnvFile:
		return kubeadm.KubeletFlagsAttributes(content)
	}
	if !utf8.Valid(content) {
		// Another file might hold the very text that shows this one's bytes.
		return attributes("content", string(content), "encoding", "not UTF-8"), nil
	}
	return attributes("content", string(content)), nil
}

func (v *View) observeFile(it *state.Item, f state.FileReport) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	mode := fileMode(it, f)
	attrs, err := v.fileAttributes(it.Kind, f.Content, mode, f.Owner)
	if err != nil {
		// A file that cannot be parsed differs in everything and is shown as text.
		return attributes("content", string(f.Content), "mode", mode, "owner", f.Owner), true
	}
	return attrs, true
}

func observeCertificate(it *state.Item, f state.FileReport, now time.Time) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	if len(f.Certificates) == 0 {
		return attributes("invalid", f.Invalid), true
	}
	attrs := certificateAttributes(it, f.Certificates[0], now)
	if it.Attributes.Get("serial").IsNull() {
		return attrs, true
	}
	// Which one it is, and what stands behind it, matters only of what somebody else issued.
	m := maps.Clone(attrs.AsMap())
	chain := []string{}
	for _, c := range f.Certificates[1:] {
		chain = append(chain, c.Serial)
	}
	m["serial"], m["chain"] = state.String(f.Certificates[0].Serial), state.FromGo(chain)
	return state.Map(m), true
}

// renewBefore is carried by the desired item, so that the observer can tell what is due.
func renewBefore(it *state.Item) time.Duration {
	d, _ := time.ParseDuration(it.Attributes.Get("renew_before").AsString())
	return d
}

func certificateAttributes(it *state.Item, c state.CertificateInfo, now time.Time) state.Value {
	before := renewBefore(it)
	m := map[string]any{
		"common_name": c.CommonName, "algorithm": c.Algorithm, "signed_by": c.IssuerKeyDigest,
		"usages": sorted(c.Usages), planner.RenewalDue: due(c, before, now), daysLeft: leftOf(c, now),
		"not_after": rfc3339(c.NotAfter), "renew_before": before.String(),
	}
	addList(m, "organizations", c.Organizations)
	addList(m, "dns_names", c.DNSNames)
	addList(m, "ip_addresses", c.IPAddresses)
	if c.IsCA {
		m["signed_by"] = c.KeyDigest
	} else if want := it.Attributes.Get("validity"); !want.IsNull() {
		m["validity"] = validity(c, want.AsString(), now)
	}
	return state.FromGo(m)
}

func observeKubeconfig(it *state.Item, f state.FileReport, now time.Time) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	k := f.Kubeconfig
	if k == nil {
		return attributes("invalid", f.Invalid), true
	}
	mode, owner := access(f, it.Attributes.Get("mode"), it.Attributes.Get("owner"))
	m := map[string]any{"server": k.Server, "mode": mode, "owner": owner}
	if len(k.CAs) > 0 {
		m["ca"], m[planner.CASerial] = k.CAs[0].KeyDigest, trustedSerial(k.CAs, it)
	}
	for _, key := range []struct{ name, value string }{
		{"cluster", k.Cluster}, {"user", k.User}, {"client_certificate", k.ClientCertificate},
	} {
		if key.value != "" {
			m[key.name] = key.value
		}
	}
	if c := k.Client; c != nil {
		m["common_name"], m["serial"] = c.CommonName, c.Serial
		addList(m, "organizations", c.Organizations)
		m["algorithm"], m["validity"] = c.Algorithm, validity(*c, it.Attributes.Get("validity").AsString(), now)
		m[planner.RenewalDue] = due(*c, renewBefore(it), now)
		m["not_after"], m[daysLeft] = rfc3339(c.NotAfter), leftOf(*c, now)
	}
	return keepDesired(it, state.FromGo(m)), true
}

// trustedSerial is the CA's certificate that is trusted: the one that the item speaks of
// where it is among several.
func trustedSerial(cas []state.CertificateInfo, it *state.Item) string {
	wanted := it.Attributes.Get(planner.CASerial).AsString()
	if slices.ContainsFunc(cas, func(c state.CertificateInfo) bool { return c.Serial == wanted }) {
		return wanted
	}
	return cas[0].Serial
}

// daysLeft is the attribute with the whole days until a certificate ends; negative
// when it has.
const daysLeft = "days_left"

// due tells that a certificate is to be renewed.
func due(c state.CertificateInfo, before time.Duration, now time.Time) bool {
	return !now.IsZero() && now.Add(before).After(c.NotAfter)
}

// validity is how long a certificate holds, as far as it differs from what is
// wanted: it would end later than one that is issued now, or was issued for less.
// When it was issued only its beginning tells, five minutes before or that of
// the CA (kubeadm), so that it may hold for less than that.
func validity(c state.CertificateInfo, wanted string, now time.Time) string {
	const backdate = 5 * time.Minute
	want, err := time.ParseDuration(wanted)
	if err != nil || now.IsZero() {
		return wanted
	}
	slack := min(time.Hour, want/10) // operators' clocks differ
	period := c.NotAfter.Sub(c.NotBefore) - backdate
	if c.NotAfter.After(now.Add(want + slack)) {
		return max(period, want+slack).Round(time.Minute).String()
	}
	if period < want-slack {
		return period.String()
	}
	return wanted
}

func leftOf(c state.CertificateInfo, now time.Time) int {
	return int(math.Floor(c.NotAfter.Sub(now).Hours() / 24))
}

// keepDesired drops attributes that the item neither speaks of nor shows: the kubelet's
// own kubeconfig is ours only as far as its server goes.
func keepDesired(it *state.Item, v state.Value) state.Value {
	m := map[string]state.Value{}
	for k, e := range v.AsMap() {
		if _, ok := it.Attributes.AsMap()[k]; ok || it.Class(k) == state.Shown {
			m[k] = e
		}
	}
	return state.Map(m)
}

func addList(m map[string]any, key string, list []string) {
	if len(list) > 0 {
		m[key] = sorted(list)
	}
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}

// attributes makes a map value from alternating keys and values.
func attributes(pairs ...any) state.Value {
	m := make(map[string]state.Value, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = state.FromGo(pairs[i+1])
	}
	return state.Map(m)
}
