package observe

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/encryption"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Observed turns reports into items: for every desired or recorded address, what the host, the API
// or etcd shows.
func Observed(v *topology.Fleet, desired, recorded *state.Snapshot) *state.Snapshot {
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
			// Retained items are not observed: they are forgotten, not removed. So are settings
			// that were put back.
			if seen[it.Address] || s == recorded && (IsRetained(it.Address) || host.IsPutBack(v.Reports[it.Address.Target], it)) {
				continue
			}
			seen[it.Address] = true
			if attrs, ok := observeAs(v, it, s == recorded); ok {
				like := []state.Value{it.Attributes}
				if was := recorded.Find(it.Address); was != nil {
					like = append(like, was.Attributes)
				}
				out.Items = append(out.Items, objects.Recordable(*it))
				out.Items[len(out.Items)-1].Attributes = withStale(v, it, sensitive.Cover(v, it, attrs, like...))
			}
		}
	}
	for _, c := range v.Clusters {
		if c.Founding {
			continue
		}
		if c.Report == nil {
			out.Unobserved = append(out.Unobserved, DarkTargets(c)...)
		} else if c.Report.Members == nil && c.Etcd.External == nil {
			for _, n := range c.ControlPlanes() {
				out.Unobserved = append(out.Unobserved, state.Unobserved{Target: n.Target, Class: "member", Reason: c.Report.EtcdUnobserved})
			}
		}
	}
	slices.SortFunc(out.Unobserved, func(a, b state.Unobserved) int {
		return state.Address{Target: a.Target}.Compare(state.Address{Target: b.Target})
	})
	out.Sort()
	return out
}

// observeAs observes an item. A file of the user that is no longer desired is there until what was
// before it is back.
func observeAs(v *topology.Fleet, it *state.Item, leaving bool) (state.Value, bool) {
	attrs, ok := Observe(v, it)
	if r := v.Reports[it.Address.Target]; leaving && r != nil && it.Address.Phase == topology.HostFilesPhase {
		return host.ObserveLeaving(r, it, attrs)
	}
	return attrs, ok
}

// DarkTargets returns the cluster, its addons and the API's view of its nodes as unobserved, when
// the API does not answer.
func DarkTargets(c *topology.Cluster) []state.Unobserved {
	reason := "the API did not answer"
	if staticpod.ReplacesAtOnce(c) {
		reason = "its CA has expired, so that the API is not trusted"
	}
	if e := c.Fleet.ClusterErrors[c.Label]; e != "" {
		reason += ": " + e
	}
	out := []state.Unobserved{{Target: c.Target, Reason: reason}}
	configured, gone := objects.AddonTargets(c)
	for _, t := range slices.Concat(configured, gone) {
		out = append(out, state.Unobserved{Target: t, Reason: reason})
	}
	for _, n := range c.Nodes {
		for _, class := range []string{"node", "member"} {
			out = append(out, state.Unobserved{Target: n.Target, Class: class, Reason: reason})
		}
	}
	return out
}

// Observe returns the observed attributes of an item; false if it does not exist.
func Observe(v *topology.Fleet, it *state.Item) (state.Value, bool) {
	switch it.Kind {
	case state.KindObject, state.KindNodeObject, state.KindEtcdMember:
		return observeInCluster(v, it)
	}
	r := v.Reports[it.Address.Target]
	if r == nil {
		return state.Value{}, false
	}
	return observeOnHost(v, it, r)
}

func observeOnHost(v *topology.Fleet, it *state.Item, r *state.Report) (state.Value, bool) {
	id, now := it.Address.ID(), v.ObservedAt
	switch it.Kind {
	case state.KindFile, state.KindYAMLFile, state.KindEnvFile:
		return observeFile(v, it, r.Files[id])
	case state.KindStaticPod:
		attrs, ok := observeFile(v, it, r.Files[id])
		if n := v.Find(it.Address.Target); n != nil && ok {
			attrs = staticpod.WithStale(n, id, attrs)
		}
		return attrs, ok
	case state.KindDirectory:
		f := r.Files[id]
		return topology.Attributes("mode", f.Mode, "owner", f.OwnerAs(it.Attributes.Get("owner").AsString())), f.Exists
	case state.KindEncryption:
		return encryption.Observe(v.Find(it.Address.Target), r.Files[id])
	case state.KindKey:
		f := r.Files[id]
		mode, owner := pki.FileAccess(f, it.Attributes.Get("mode"), it.Attributes.Get("owner"))
		if f.Type == "link" && f.Target == "" && f.Invalid == "" {
			f.Invalid = "a symbolic link that leads to no file"
		}
		if f.Invalid != "" {
			return topology.Attributes("mode", mode, "owner", owner, "invalid", f.Invalid), f.Exists
		}
		return topology.Attributes("mode", mode, "owner", owner), f.Exists
	case state.KindCertificate:
		f := r.Files[certificateFile(it)]
		if id == topology.KubeletClientCert {
			return fleetWithLost(v, it, pki.ObserveKubeletCertificate(v, it, f), f), true
		}
		attrs, ok := observeCertificate(it, f, now)
		if ok {
			attrs = pki.ObserveKeyAccess(it, pki.WithLostKey(v, it, fleetWithLost(v, it, attrs, f), r), r)
		}
		return attrs, ok
	case state.KindKubeconfig:
		attrs, ok := observeKubeconfig(it, r.Files[id], now)
		if n := v.Find(it.Address.Target); n != nil && ok {
			if id == topology.KubeletConf && n.IsControlPlane() && n.Bootstraps() {
				return state.Value{}, false // its kubelet rewrites it, for another server
			}
			attrs = pki.WithOldCopy(n, id, attrs)
		}
		return fleetWithLost(v, it, attrs, r.Files[id]), ok
	case state.KindBinary:
		f := r.Files[id]
		return topology.Attributes("sha256", f.SHA256, "mode", f.Mode, "owner", f.Owner), f.Exists
	case state.KindUnit:
		return observeUnit(v, it, r.Units[id])
	case state.KindPackage:
		return host.ObservePackage(it, r.Packages.Installed[id])
	case state.KindImage:
		return topology.Attributes("present", true), slices.Contains(r.Images, id)
	case state.KindSysctl:
		value, ok := r.Sysctls[id]
		return topology.Attributes("value", value), ok
	case state.KindModule:
		return topology.Attributes("loaded", true), r.Modules[id]
	case state.KindUser:
		return host.ObserveUser(id, r.Users[id])
	case state.KindSwap:
		return topology.Attributes("on", r.Facts.Swap, "at_boot", r.Facts.SwapAtBoot), true
	case state.KindMark:
		return observeMark(r.Marks)
	}
	panic(fmt.Sprintf("internal error: items of kind %s are not observed", it.Kind))
}

func observeMark(m *state.Marks) (state.Value, bool) {
	if m == nil {
		return state.Value{}, false
	}
	return topology.Attributes("cluster", m.Cluster, "node", m.Node.String()), true
}

func observeUnit(v *topology.Fleet, it *state.Item, u state.UnitReport) (state.Value, bool) {
	if it.Address.Phase == topology.PreparePhase {
		return host.ObserveOwnUnit(it, u), u.Exists
	}
	return kubelet.ObserveUnit(v, it, u), u.Exists
}

// withStale adds to a file that a kubelet reads at its start that the running one has not read it, if
// the last apply was interrupted after it had begun to write it. A file with other content is written
// anyway, and the kubelet restarted. The stages of a CA rotation restart kubelets as well.
func withStale(v *topology.Fleet, it *state.Item, attrs state.Value) state.Value {
	id, n := it.Address.ID(), v.Find(it.Address.Target)
	attrs = host.WithStaleUnits(n, it, attrs)
	reads := it.Address.Phase == topology.KubeletStartPhase && (id == topology.KubeletConfig || id == topology.KubeletFlags)
	if !reads || v.RefreshOnly || n == nil || n.Joins() || n.Cluster.Rotates() || !attrs.Equal(it.Attributes) || !n.Report.Outdated(pki.KubeletProcess.Name, id) {
		return attrs
	}
	if v.Recorded == nil || v.Recorded.Interrupted(topology.StepAddress(n.Target, topology.KubeletStartPhase)).IsZero() {
		return attrs // written by hand
	}
	return topology.WithAttribute(attrs, planner.StaleFiles, []any{id})
}

func observeFile(v *topology.Fleet, it *state.Item, f state.FileReport) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	mode, owner := pki.FileMode(it, f), f.OwnerAs(it.Attributes.Get("owner").AsString())
	if it.Address.ID() == topology.KubeletConfig && pki.ImplicitAttribute(v, it.Address, "mode").AsString() == f.Mode {
		mode = f.Mode // a control has set it, and without it the mode is the usual one again
	}
	attrs, err := provenance.FileAttributes(v, it.Kind, f.Content, mode, owner)
	if err != nil {
		// A file that cannot be parsed differs as a whole and is shown as text.
		return topology.Attributes("content", string(f.Content), "mode", mode, "owner", owner), true
	}
	return attrs, true
}

func observeCertificate(it *state.Item, f state.FileReport, now time.Time) (state.Value, bool) {
	if !f.Exists {
		return state.Value{}, false
	}
	if len(f.Certificates) == 0 {
		return topology.Attributes("invalid", f.Invalid), true
	}
	attrs := certificateAttributes(it, f.Certificates[0], now)
	if it.Attributes.Get("serial").IsNull() {
		return attrs, true
	}
	// The serial and the chain matter only for certificates that the operator supplies.
	m := maps.Clone(attrs.AsMap())
	chain := []string{}
	for _, c := range f.Certificates[1:] {
		chain = append(chain, c.Serial)
	}
	m["serial"], m["chain"] = state.String(f.Certificates[0].Serial), state.FromGo(chain)
	return state.Map(m), true
}

// renewBefore returns the renewal period in the desired item, which decides whether the renewal is
// due.
func renewBefore(it *state.Item) time.Duration {
	d, _ := time.ParseDuration(it.Attributes.Get("renew_before").AsString())
	return d
}

func certificateAttributes(it *state.Item, c state.CertificateInfo, now time.Time) state.Value {
	before := renewBefore(it)
	m := map[string]any{
		"common_name": c.CommonName, "algorithm": c.Algorithm, "signed_by": c.IssuerKeyDigest,
		"usages": topology.Sorted(c.Usages), planner.RenewalDue: pki.Due(c, before, now), pki.DaysLeft: pki.WholeDaysLeft(c, now),
		"not_after": pki.RFC3339(c.NotAfter), "renew_before": before.String(),
	}
	topology.AddList(m, "organizations", c.Organizations)
	topology.AddList(m, "dns_names", c.DNSNames)
	topology.AddList(m, "ip_addresses", c.IPAddresses)
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
		return topology.Attributes("invalid", f.Invalid), true
	}
	mode, owner := pki.FileAccess(f, it.Attributes.Get("mode"), it.Attributes.Get("owner"))
	m := map[string]any{"server": k.Server, "mode": mode, "owner": owner}
	if len(k.CAs) > 0 {
		m["ca"], m[planner.CASerial] = k.CAs[0].KeyDigest, objects.TrustedSerial(k.CAs, it)
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
		topology.AddList(m, "organizations", c.Organizations)
		m["algorithm"], m["validity"] = c.Algorithm, validity(*c, it.Attributes.Get("validity").AsString(), now)
		m[planner.RenewalDue] = pki.Due(*c, renewBefore(it), now)
		m["not_after"], m[pki.DaysLeft] = pki.RFC3339(c.NotAfter), pki.WholeDaysLeft(*c, now)
	}
	return keepDesired(it, state.FromGo(m)), true
}

// validity returns the validity period of a certificate, if it differs from the desired one: it
// would expire later than one that is issued now, or was issued for a shorter period. The time of
// issue is only known from the start of validity, which is five minutes earlier or that of the CA
// (kubeadm), so the remaining period may be shorter.
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

// keepDesired drops attributes that the item neither has nor shows: in the kubelet's own kubeconfig
// kubewright manages only the server.
func keepDesired(it *state.Item, v state.Value) state.Value {
	m := map[string]state.Value{}
	for k, e := range v.AsMap() {
		if _, ok := it.Attributes.AsMap()[k]; ok || it.Class(k) == state.Shown {
			m[k] = e
		}
	}
	return state.Map(m)
}

// IsRetained reports whether an item is kept on the host when it is no longer desired.
func IsRetained(a state.Address) bool {
	for _, p := range phases.All() {
		if p.Name == a.Phase {
			return p.Retains != nil && p.Retains(a.Class())
		}
	}
	return false
}

// RestoredData returns the file within a member's data that names the snapshot it was restored
// from.
func RestoredData(n *topology.Node) string { return n.EtcdData() + "/" + planner.RestoredData }
