package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// machine is a host as the world keeps it: what differs from its profile's baseline.
type machine struct {
	address string

	Profile    *Profile   `json:"profile,omitempty"`
	Hostname   string     `json:"hostname,omitempty"`
	Addresses  []string   `json:"addresses,omitempty"`
	Conditions Conditions `json:"conditions,omitzero"`
	Off        bool       `json:"off,omitempty"`
	Boots      int        `json:"boots,omitempty"`
	Made       int        `json:"made,omitempty"`
	// Installed counts how often the machine was reinstalled.
	Installed int `json:"installed,omitempty"`

	Marks *state.Marks `json:"marks,omitempty"`
	// Token is the highest run token seen, Lineage the state that it was of.
	Token   int64  `json:"token,omitempty"`
	Lineage string `json:"lineage,omitempty"`
	// Run is the run that had the token first.
	Run string `json:"run,omitempty"`
	// Unreadable says what of the marks is garbage.
	Unreadable string `json:"unreadable,omitempty"`

	// Deprecated are APIs that the API server here was asked for.
	Deprecated []state.DeprecatedAPI `json:"deprecated,omitempty"`

	Files    map[string]*file  `json:"files,omitempty"`
	Versions map[string]string `json:"versions,omitempty"` // of binaries put there, by path
	Before   map[string]*file  `json:"before,omitempty"`   // kept to be put back, by path
	Units    map[string]unit   `json:"units,omitempty"`
	Images   map[string]bool   `json:"images,omitempty"` // false: removed
	Packages map[string]*pkg   `json:"packages,omitempty"`
	Sysctls  map[string]string `json:"sysctls,omitempty"`
	Modules  map[string]bool   `json:"modules,omitempty"`
	// SwapOff reports whether swap was turned off; SwapOn that it is on although the profile has none.
	SwapOff bool     `json:"swap_off,omitempty"`
	SwapOn  bool     `json:"swap_on,omitempty"`
	Mounts  []string `json:"mounts,omitempty"`
	Links   []string `json:"links,omitempty"`
	Rules   []string `json:"rules,omitempty"`

	Kubelet *kubelet        `json:"kubelet,omitempty"`
	Pods    map[string]*pod `json:"pods,omitempty"`
	Daemons []string        `json:"daemons,omitempty"`
	// ProxyRead identifies the configuration that kube-proxy read when it started here.
	ProxyRead string `json:"proxy_read,omitempty"`
}

// Conditions are what is wrong with a host.
type Conditions struct {
	// Unreachable: no connection can be made.
	Unreachable bool `json:"unreachable,omitempty"`
	// ChangedHostKey: another key than the known one is shown.
	ChangedHostKey bool `json:"changed_host_key,omitempty"`
	// RefusesKey: the user cannot log in with the key.
	RefusesKey bool `json:"refuses_key,omitempty"`
	// NoSudo: logged in, and unable to become root.
	NoSudo bool `json:"no_sudo,omitempty"`
	// DiskFull: nothing can be written.
	DiskFull bool `json:"disk_full,omitempty"`
	// NoRegistry: images cannot be pulled.
	NoRegistry bool `json:"no_registry,omitempty"`
	// NoForwarding: sshd lets no connections through to other hosts.
	NoForwarding bool `json:"no_forwarding,omitempty"`
	// NoMirror: the package repository does not answer.
	NoMirror bool `json:"no_mirror,omitempty"`
	// NoPackages are those that the repository does not have, as NAME=VERSION.
	NoPackages []string `json:"no_packages,omitempty"`
	// NoModules are those that the kernel does not have.
	NoModules []string `json:"no_modules,omitempty"`
	// PackageLock is a program that works with the package manager.
	PackageLock string `json:"package_lock,omitempty"`
	// ForeignCluster: files of a cluster made by somebody else are there.
	ForeignCluster bool `json:"foreign_cluster,omitempty"`
	// Arch is another architecture than the profile's.
	Arch string `json:"arch,omitempty"`
	// NoSystemd: PID 1 is something else.
	NoSystemd bool `json:"no_systemd,omitempty"`
	// CgroupV1: no unified hierarchy.
	CgroupV1 bool `json:"cgroup_v1,omitempty"`
	// CRIDisabled: containerd as Docker's package brings it, with its CRI plugin turned
	// off, as long as no other config.toml is put there.
	CRIDisabled bool `json:"cri_disabled,omitempty"`
	// Unprobed: the kubelet has not probed its static pods yet, and shows them as not ready.
	Unprobed bool `json:"unprobed,omitempty"`
	// Ports are those that somebody else listens on.
	Ports []int `json:"ports,omitempty"`
	// Answers replace what the host says to questions of preflight.
	Answers map[string]string `json:"answers,omitempty"`
	// ClockSkew is host clock minus true time.
	ClockSkew time.Duration `json:"clock_skew,omitempty"`
}

// machine returns the host at an address; one that nobody knows springs up.
func (w *World) machine(address string) *machine {
	m := w.d.Hosts[address]
	if m == nil {
		m = &machine{address: address}
		w.d.Hosts[address] = m
		w.know(m)
	}
	return m
}

// know makes a host findable by its name and addresses.
func (w *World) know(m *machine) {
	for _, name := range append(w.addressesOf(m), w.hostname(m), m.address) {
		name = state.CanonicalIP(name)
		if other, taken := w.names[name]; !taken || other == m.address || name == state.CanonicalIP(m.address) {
			w.names[name] = m.address
		}
	}
}

// find returns the host that a name or IP address belongs to, or nil.
func (w *World) find(name string) *machine {
	address, ok := w.names[state.CanonicalIP(strings.Trim(name, "[]"))]
	if !ok {
		return nil
	}
	return w.d.Hosts[address]
}

func (w *World) profile(m *machine) Profile {
	if m.Profile != nil {
		return *m.Profile
	}
	return w.d.Profile
}

// base returns the machine's baseline. It is asked for at every file: by where the profile
// is, which is never written to, it is found without reading all of that.
func (w *World) base(m *machine) *baseline {
	b := w.bases[m.Profile]
	if b == nil {
		b = w.baseline(w.profile(m))
		w.bases[m.Profile] = b
	}
	return b
}

// hostname returns the host's own name: its address where that is a name,
// otherwise one made of the address.
func (w *World) hostname(m *machine) string {
	if m.Hostname != "" {
		return m.Hostname
	}
	if _, err := netip.ParseAddr(m.address); err != nil {
		return strings.ToLower(m.address)
	}
	return "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(m.address)
}

// addressesOf returns the host's IP addresses; a host known by a name gets one.
func (w *World) addressesOf(m *machine) []string {
	if len(m.Addresses) > 0 {
		return m.Addresses
	}
	if _, err := netip.ParseAddr(m.address); err == nil {
		return []string{m.address}
	}
	h := w.derive(6, "ip", m.address)
	var b [3]byte
	_, _ = fmt.Sscanf(h, "%02x%02x%02x", &b[0], &b[1], &b[2])
	return []string{fmt.Sprintf("10.%d.%d.%d", 64+b[0]%64, b[1], 1+b[2]%254)}
}

func (w *World) machineID(m *machine) string {
	if m.Conditions.ChangedHostKey {
		return w.derive(32, "machine-id", m.address, "replaced")
	}
	if m.Installed > 0 {
		return w.derive(32, "machine-id", m.address, strconv.Itoa(m.Installed))
	}
	return w.derive(32, "machine-id", m.address)
}

func (w *World) bootID(m *machine) string {
	h := w.derive(32, "boot-id", m.address, fmt.Sprint(m.Boots))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (w *World) hostKey(m *machine) string {
	which := "original"
	if m.Conditions.ChangedHostKey {
		which = "changed"
	}
	return "ssh-ed25519 SIM" + w.derive(40, "host-key", m.address, which)
}

// clock returns the host's own time.
func (w *World) clock(m *machine) time.Time { return w.d.Now.Add(m.Conditions.ClockSkew) }

// get returns the file at a path, or nil.
func (w *World) get(m *machine, p string) *file {
	if f, ok := m.Files[p]; ok {
		if f.Gone {
			return nil
		}
		return f
	}
	if p == "/" {
		return &file{Type: typeDirectory}
	}
	return w.base(m).files[p]
}

// resolve is get with a symbolic link followed.
func (w *World) resolve(m *machine, p string) *file {
	f, _ := w.follow(m, p)
	return f
}

// follow returns what is at a path, or where a symbolic link there leads, and the path of that.
func (w *World) follow(m *machine, p string) (*file, string) {
	f := w.get(m, p)
	for i := 0; f != nil && f.Type == typeLink && i < 8; i++ {
		target := f.Link
		if !strings.HasPrefix(target, "/") {
			target = parent(p) + "/" + target
		}
		p = clean(target)
		f = w.get(m, p)
	}
	return f, p
}

// put puts a file in place, with the folders above it.
func (w *World) put(m *machine, p string, f *file) {
	if p == "/" {
		return
	}
	for dir := parent(p); dir != "/" && w.get(m, dir) == nil; dir = parent(dir) {
		w.set(m, dir, &file{Type: typeDirectory})
	}
	w.set(m, p, f)
}

func (w *World) set(m *machine, p string, f *file) {
	if b := w.base(m).files[p]; b != nil && same(b, f) {
		delete(m.Files, p)
		return
	}
	if m.Files == nil {
		m.Files = map[string]*file{}
	}
	if f.Record != nil || f.Type == typeLink {
		stamped := *f
		if was := m.Files[p]; was == nil || was.SHA256 != f.SHA256 || was.Link != f.Link {
			stamped.Modified = w.d.Now
		}
		f = &stamped
	}
	m.Files[p] = f
	delete(m.Versions, p)
}

func same(a, b *file) bool {
	return a.Type == b.Type && a.mode() == b.mode() && a.owner() == b.owner() &&
		a.SHA256 == b.SHA256 && a.Link == b.Link && a.Gone == b.Gone
}

// remove takes away the file or tree at a path.
func (w *World) remove(m *machine, p string) {
	for _, child := range w.tree(m, p) {
		w.removeOne(m, child)
	}
	w.removeOne(m, p)
}

func (w *World) removeOne(m *machine, p string) {
	delete(m.Files, p)
	delete(m.Versions, p)
	if w.base(m).files[p] == nil {
		return
	}
	if m.Files == nil {
		m.Files = map[string]*file{}
	}
	m.Files[p] = &file{Gone: true}
}

// tree lists everything below a folder, in order.
func (w *World) tree(m *machine, dir string) []string {
	var out []string
	for p := range w.base(m).files {
		if below(p, dir) && w.get(m, p) != nil {
			out = append(out, p)
		}
	}
	base := w.base(m).files
	for p, f := range m.Files {
		if !f.Gone && base[p] == nil && below(p, dir) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// children lists what stands directly in a folder, in order.
func (w *World) children(m *machine, dir string) []string {
	var out []string
	base := w.base(m)
	for _, p := range base.entries[dir] {
		if w.get(m, p) != nil {
			out = append(out, p)
		}
	}
	for p, f := range m.Files {
		if strings.HasPrefix(p, dir) && parent(p) == dir && !f.Gone && base.files[p] == nil {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// unit returns a systemd unit and whether it exists: it has a unit file, or the
// profile has it.
func (w *World) unit(m *machine, name string) (unit, bool) {
	for _, dir := range []string{"/etc/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		if w.get(m, dir+unitFile(name)) != nil {
			if u, ok := m.Units[name]; ok {
				return u, true
			}
			return w.base(m).units[name], true
		}
	}
	return unit{}, false
}

func (w *World) setUnit(m *machine, name string, u unit) {
	if base, ok := w.base(m).units[name]; ok && base == u || !ok && u == (unit{}) {
		delete(m.Units, name)
		return
	}
	if m.Units == nil {
		m.Units = map[string]unit{}
	}
	m.Units[name] = u
}

func unitName(s string) string { return strings.TrimSuffix(s, ".service") }

func unitFile(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return name + ".service"
}

func (w *World) active(m *machine, name string) bool {
	u, ok := w.unit(m, name)
	return ok && u.Active
}

func (w *World) swap(m *machine) bool { return m.SwapOn || w.profile(m).Swap && !m.SwapOff }

func (w *World) sysctl(m *machine, name string) (string, bool) {
	if strings.HasPrefix(name, "net.bridge.") && !w.module(m, "br_netfilter") {
		return "", false
	}
	if v, ok := m.Sysctls[name]; ok {
		return v, true
	}
	if strings.HasPrefix(name, "net.bridge.bridge-nf-call-") {
		return "1", true
	}
	v, ok := w.base(m).sysctls[name]
	return v, ok
}

func (w *World) module(m *machine, name string) bool {
	if loaded, ok := m.Modules[name]; ok {
		return loaded
	}
	return w.base(m).modules[name]
}

func (w *World) hasImage(m *machine, image string) bool {
	if has, ok := m.Images[image]; ok {
		return has
	}
	return w.base(m).images[image]
}

func (w *World) setImage(m *machine, image string, present bool) {
	setFlag(&m.Images, image, present, w.base(m).images[image])
}

func (w *World) images(m *machine) []string {
	var out []string
	for image := range w.base(m).images {
		if w.hasImage(m, image) {
			out = append(out, image)
		}
	}
	for image, present := range m.Images {
		if present && !w.base(m).images[image] {
			out = append(out, image)
		}
	}
	slices.Sort(out)
	return out
}

// setFlag keeps a flag only where it differs from its default.
func setFlag(flags *map[string]bool, key string, value, usual bool) {
	if value == usual {
		delete(*flags, key)
		return
	}
	if *flags == nil {
		*flags = map[string]bool{}
	}
	(*flags)[key] = value
}

// setText keeps a text only where it differs from its default.
func setText(texts *map[string]string, key, value, usual string) {
	if value == usual {
		delete(*texts, key)
		return
	}
	if *texts == nil {
		*texts = map[string]string{}
	}
	(*texts)[key] = value
}

// insert adds to a sorted set.
func insert[T cmp.Ordered](set *[]T, x T) {
	if i, found := slices.BinarySearch(*set, x); !found {
		*set = slices.Insert(*set, i, x)
	}
}

// versionOf returns the version of a program on the host, or "".
func (w *World) versionOf(m *machine, program string) string {
	for _, dir := range []string{"/usr/local/bin/", "/usr/bin/"} {
		p := dir + program
		if w.get(m, p) == nil {
			continue
		}
		if v, ok := m.Versions[p]; ok {
			return v
		}
		if _, changed := m.Files[p]; changed {
			return ""
		}
		switch program {
		case "kubelet", "kubeadm", "kubectl":
			return w.profile(m).KubeletVersion
		case "containerd":
			return w.profile(m).RuntimeVersion
		}
	}
	return ""
}

// hasProgram reports whether a program is where units look for it.
func (w *World) hasProgram(m *machine, program string) bool {
	return w.get(m, "/usr/local/bin/"+program) != nil || w.get(m, "/usr/bin/"+program) != nil
}

// sortedKeys lists the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
