package sim

import (
	"context"
	"encoding/pem"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Observe returns the query and changes nothing.
func (h *Host) Observe(ctx context.Context, q state.Query) (*state.Report, error) {
	if h.w.OnObserve != nil {
		if err := h.w.OnObserve(ctx, h.address); err != nil {
			return nil, err
		}
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	m := h.machine()
	var r *state.Report
	err := h.w.read(ctx, m, "observe", "", func() error {
		r = h.w.observe(m, q)
		return nil
	})
	return r, err
}

// roundTrip is how long an observation is said to take.
const roundTrip = 20 * time.Millisecond

func (w *World) observe(m *machine, q state.Query) *state.Report {
	r := &state.Report{
		Facts: w.facts(m), Files: make(map[string]state.FileReport, len(q.Files)), Units: map[string]state.UnitReport{},
		Sysctls: map[string]string{}, Modules: map[string]bool{}, NoModules: map[string]bool{}, Ports: map[int]bool{}, Commands: map[string]bool{},
		Elapsed: roundTrip,
	}
	for _, f := range q.Files {
		r.Files[f.Path] = w.report(m, clean(f.Path), f.Read)
	}
	for _, glob := range q.Globs {
		w.observeGlob(m, glob, r)
	}
	for _, name := range q.Units {
		r.Units[name] = w.unitReport(m, unitName(name))
	}
	if q.Images && !isMissing(q.CRISocket) && w.active(m, "containerd") {
		r.Images = w.images(m)
	}
	for _, name := range q.Sysctls {
		if v, ok := w.sysctl(m, name); ok {
			r.Sysctls[name] = v
		}
	}
	for _, name := range q.Modules {
		r.Modules[name], r.NoModules[name] = w.module(m, name), slices.Contains(m.Conditions.NoModules, name)
	}
	for _, port := range q.Ports {
		r.Ports[port] = w.listens(m, port)
	}
	if len(q.Packages.Names) > 0 {
		r.Packages = w.packageReport(m, q.Packages)
	}
	if len(q.Processes) > 0 {
		r.Started = w.started(m, q.Processes)
	}
	for _, name := range q.Commands {
		r.Commands[name] = w.get(m, "/usr/bin/"+name) != nil || w.get(m, "/usr/local/bin/"+name) != nil
	}
	if len(q.Secrets) > 0 {
		r.Secrets = w.secrets(m, q.Secrets)
	}
	r.Preflight = w.preflight(m)
	if !q.Preflight {
		maps.DeleteFunc(r.Preflight, func(name, _ string) bool { return !slices.Contains(roomAnswers, name) })
	}
	r.Marks = w.marks(m)
	nameIssuers(r)
	return r
}

func (w *World) facts(m *machine) state.Facts {
	p := w.profile(m)
	f := state.Facts{
		Hostname: w.hostname(m), MachineID: w.machineID(m), BootID: w.bootID(m),
		Arch: w.arch(m), OS: p.OS, OSVersion: p.OSVersion, Kernel: p.Kernel, CPUs: p.CPUs, MemoryBytes: p.MemoryBytes,
		Systemd: !m.Conditions.NoSystemd, CgroupV2: !m.Conditions.CgroupV1, Swap: w.swap(m), SwapAtBoot: w.swapAtBoot(m), Addresses: w.addressesOf(m), ProxyModes: m.proxyModes(), ClockOffset: m.Conditions.ClockSkew,
		KubeletVersion: w.versionOf(m, "kubelet"), RuntimeVersion: w.versionOf(m, "containerd"),
	}
	for _, dir := range []string{"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"} {
		if w.get(m, dir).isDir() {
			f.CADirs = append(f.CADirs, dir)
		}
	}
	if w.active(m, "containerd") {
		f.CRISocket = containerdSocket
		f.CRISockets = []string{containerdSocket}
	}
	return f
}

// arch returns the host's architecture.
func (w *World) arch(m *machine) string {
	if m.Conditions.Arch != "" {
		return m.Conditions.Arch
	}
	return w.profile(m).Arch
}

const containerdSocket = "unix:///var/run/containerd/containerd.sock"

// isMissing reports whether an endpoint is that of a runtime which simulated hosts do not have:
// of those that are known by their sockets they have containerd alone.
func isMissing(socket string) bool {
	return slices.Contains([]string{"crio.sock", "cri-dockerd.sock"}, path.Base(socket))
}

func (w *World) report(m *machine, p string, read state.Read) state.FileReport {
	f := w.get(m, p)
	if f == nil {
		return state.FileReport{}
	}
	r := state.FileReport{Exists: true, Type: f.Type, Mode: f.mode(), Owner: f.owner(), Size: f.Size, Link: f.Link, Modified: f.Modified}
	if r.Type == "" {
		r.Type = "file"
	}
	if f.isDir() {
		r.Entries = len(w.children(m, p))
	}
	if f.Type == typeLink {
		target := ""
		if f, target = w.follow(m, p); f.isRegular() {
			r.Target, r.TargetMode, r.TargetOwner = target, f.mode(), f.owner()
		}
	}
	if read == state.ReadStat {
		return r
	}
	if !f.isRegular() {
		if read == state.ReadKey {
			r.Invalid = noKey
		}
		return r
	}
	r.SHA256 = f.SHA256
	w.readInto(f, read, &r)
	return r
}

// readInto adds what of the content is asked for.
func (w *World) readInto(f *file, read state.Read, r *state.FileReport) {
	switch read {
	case state.ReadContent:
		r.Content = w.text(f)
	case state.ReadCertificate:
		if f.Record == nil || len(f.Record.Certificates) == 0 {
			r.Invalid = "no certificate in the file"
			return
		}
		r.Certificates = append([]state.CertificateInfo(nil), f.Record.Certificates...)
	case state.ReadKey:
		if key := w.keyIn(f); key != "" {
			r.PublicKeys = []string{key}
		} else if !w.holdsKey(f) {
			r.Invalid = noKey
		}
	case state.ReadPublicKeys:
		if r.PublicKeys = f.Record.publics(); r.PublicKeys == nil {
			r.Invalid = "no public key in the file"
		}
	case state.ReadKubeconfig:
		if f.Record == nil || f.Record.Kubeconfig == nil {
			r.Invalid = "not a kubeconfig"
			return
		}
		k := *f.Record.Kubeconfig
		if k.Client != nil {
			client := *k.Client
			k.Client = &client
		}
		r.Kubeconfig = &k
	}
}

const noKey = "no private key in the file"

// keyIn returns the identity of the private key in a file; empty where it cannot be told.
func (w *World) keyIn(f *file) string {
	r := f.Record
	if r == nil {
		r, _ = importRecord(w.content(f), nil)
	}
	if r == nil {
		return ""
	}
	return r.Key
}

// holdsKey reports whether a private key is in a file.
func (w *World) holdsKey(f *file) bool {
	if f.Record != nil {
		return f.Record.Key != ""
	}
	for block, rest := pem.Decode(w.content(f)); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return true
		}
	}
	return false
}

// nameIssuers leaves the issuer's digest only where its certificate is in the
// same report, as on a host that has to find it by verifying.
func nameIssuers(r *state.Report) {
	known := map[string]bool{}
	for _, f := range r.Files {
		for _, c := range f.Certificates {
			if c.IsCA {
				known[c.KeyDigest] = true
			}
		}
	}
	for _, f := range r.Files {
		for i := range f.Certificates {
			if !known[f.Certificates[i].IssuerKeyDigest] {
				f.Certificates[i].IssuerKeyDigest = ""
			}
		}
		if f.Kubeconfig != nil && f.Kubeconfig.Client != nil && !known[f.Kubeconfig.Client.IssuerKeyDigest] {
			f.Kubeconfig.Client.IssuerKeyDigest = ""
		}
	}
}

func (w *World) observeGlob(m *machine, glob string, r *state.Report) {
	dir := clean(path.Dir(glob))
	candidates := w.children(m, dir)
	if strings.ContainsAny(dir, "*?[") {
		candidates = w.tree(m, "/")
	}
	for _, p := range candidates {
		if ok, _ := path.Match(clean(glob), p); !ok || strings.HasPrefix(path.Base(p), ".") && !strings.HasPrefix(path.Base(glob), ".") {
			continue
		}
		if _, asked := r.Files[p]; !asked {
			r.Files[p] = w.report(m, p, state.ReadDigest)
		}
	}
}

func (w *World) unitReport(m *machine, name string) state.UnitReport {
	u, ok := w.unit(m, name)
	if !ok {
		return state.UnitReport{}
	}
	r := state.UnitReport{Exists: true, Active: "inactive", Enabled: "disabled"}
	if u.Active {
		r.Active = "active"
		if name == "kubelet" && w.kubeletFault(m) != "" {
			r.Active = "activating"
		}
	}
	if u.Enabled {
		r.Enabled = "enabled"
	}
	return r
}

// roomAnswers are those that every host gives.
var roomAnswers = []string{"etc_writable", "etc_free_kib", "var_lib_free_kib"}

// preflight returns what the preflight checks ask besides.
func (w *World) preflight(m *machine) map[string]string {
	free := "41943040"
	if m.Conditions.DiskFull {
		free = "0"
	}
	out := map[string]string{
		"root": "true", "etc_writable": "true", "hostname_resolves": "true", "kmsg": "true",
		"cgroup_controllers": "cpuset cpu io memory hugetlb pids rdma misc",
		"kernel_config":      "known", "kernel_missing": "CGROUP_CPUACCT CGROUP_DEVICE", "etc_free_kib": free, "var_lib_free_kib": free,
	}
	switch {
	case !w.active(m, "containerd"):
		out["cri"] = ""
	case !w.servesCRI(m):
		out["cri"] = "disabled"
	default:
		out["cri"] = "ok"
	}
	if m.Conditions.CgroupV1 {
		out["cgroup_controllers"] = "cpuset cpu cpuacct blkio memory devices freezer hugetlb pids"
		out["kernel_missing"] = ""
	}
	maps.Copy(out, m.Conditions.Answers)
	return out
}
