package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Facts are validated before use: data of one host reaches another's commands or files only
// in these forms.
var (
	hostnameForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
	wordForm     = regexp.MustCompile(`^[A-Za-z0-9_.+~:-]*$`)
	versionForm  = regexp.MustCompile(`\bv?([0-9]+\.[0-9]+\.[0-9]+[A-Za-z0-9.+~-]*)`)
)

// isWord reports whether a host's value is acceptable where a word is expected.
func isWord(s string) bool { return len(s) <= 128 && wordForm.MatchString(s) }

func isHostname(s string) bool { return len(s) <= 254 && hostnameForm.MatchString(s) }

// machines maps uname -m to Go's names of architectures.
var machines = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
}

func (r *reading) facts(began time.Time) error {
	lines, err := r.lines("facts")
	if err != nil {
		return err
	}
	f := &r.report.Facts
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		ok := true
		switch name {
		case "time":
			f.ClockOffset, ok = clockOffset(value, began)
		case "arch":
			f.Arch, ok = value, isWord(value)
			if goName := machines[value]; goName != "" {
				f.Arch = goName
			}
		case "cpus":
			f.CPUs, err = strconv.Atoi(value)
		case "hostname":
			f.Hostname, ok = strings.ToLower(strings.TrimSpace(value)), isHostname(strings.TrimSpace(value))
		case "kernel":
			f.Kernel, ok = value, isWord(value)
		case "boot_id":
			f.BootID, ok = value, isWord(value)
		case "memory":
			f.MemoryBytes, err = strconv.ParseInt(value, 10, 64)
			f.MemoryBytes *= 1024
		case "swap":
			f.Swap = true
		case "swap_at_boot":
			f.SwapAtBoot = true
		case "cgroup":
			f.CgroupV2 = true
		case "systemd":
			f.Systemd = true
		case "proxy":
			f.ProxyModes, ok = append(f.ProxyModes, value), value == "ipvs" || value == "iptables"
		default:
			ok = false
		}
		switch {
		case ok && err == nil:
		case name == "time", name == "arch", name == "cpus": // of date, uname, nproc
			return foreign("facts", line)
		default:
			return unexpected("facts", line)
		}
	}
	return nil
}

// clockOffset returns the host's clock minus ours, accurate to half a round trip.
func clockOffset(text string, began time.Time) (time.Duration, bool) {
	now, err := moment(text)
	return now.Sub(began), err == nil
}

// moment parses seconds since 1970 with the decimals that the host prints. GNU's tools
// print nine. uutils' stat is accurate to some hundred nanoseconds, or prints none in older
// releases, so that the order of two changes within one second is unknown there.
func moment(text string) (time.Time, error) {
	seconds, decimals, _ := strings.Cut(text, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	n, err2 := strconv.ParseUint((decimals + "000000000")[:9], 10, 32)
	return time.Unix(s, int64(n)), errors.Join(err1, err2)
}

// oneWord returns the only word in a file; empty if it is not a valid word.
func oneWord(content []byte) string {
	word := strings.TrimSpace(string(content))
	if !isWord(word) {
		return ""
	}
	return word
}

// parseOSRelease reads ID and VERSION_ID (os-release(5)).
func parseOSRelease(content []byte) (id, version string) {
	for line := range strings.SplitSeq(string(content), "\n") {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if !isWord(value) {
			continue
		}
		switch key {
		case "ID":
			id = value
		case "VERSION_ID":
			version = value
		}
	}
	return id, version
}

// addresses parses ip -o addr, or hostname -I on a host without iproute2.
func (r *reading) addresses() error {
	lines, err := r.lines("addresses")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		if i := slices.IndexFunc(words, func(w string) bool { return w == "inet" || w == "inet6" }); i >= 0 && i+1 < len(words) {
			words = words[i+1 : i+2]
		}
		for _, w := range words {
			ip, err := netip.ParseAddr(strings.SplitN(w, "/", 2)[0])
			if text := ip.String(); err == nil && !known[text] {
				known[text] = true
				r.report.Facts.Addresses = append(r.report.Facts.Addresses, text)
			}
		}
	}
	return nil
}

// criSockets in kubeadm's order (app/util/runtime), as it writes them.
var criSockets = []string{"/var/run/containerd/containerd.sock", "/var/run/crio/crio.sock", "/var/run/cri-dockerd.sock"}

// sockets parses /proc/net/unix: a runtime answers if its socket listens (flag 00010000),
// which the socket file alone does not show.
func (r *reading) sockets() error {
	lines, err := r.lines("sockets")
	if err != nil {
		return err
	}
	r.listening = map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) == 8 && words[3] == "00010000" {
			r.listening[inVar(words[7])] = true
		}
	}
	f := &r.report.Facts
	for _, s := range criSockets {
		if r.listening[s] {
			f.CRISockets = append(f.CRISockets, "unix://"+s)
		}
	}
	if len(f.CRISockets) > 0 {
		f.CRISocket = f.CRISockets[0]
	}
	return nil
}

// inVar returns a path in /run in the form in which kubeadm writes it.
func inVar(file string) string {
	if strings.HasPrefix(file, "/run/") {
		return "/var" + file
	}
	return file
}

// runtime returns the endpoint of the runtime whose images were listed; empty if none
// listens.
func (r *reading) runtime() string {
	switch {
	case r.query.CRISocket == "":
		return r.report.Facts.CRISocket
	case r.listening[inVar(r.query.socket)]:
		return r.query.CRISocket
	}
	return ""
}

// units parses systemctl show: a block of properties for each unit, in order, separated by
// blank lines. Without systemd there is no block; if systemd runs but does not answer, the
// units are unknown.
func (r *reading) units() error {
	lines, err := r.lines("units")
	if err != nil {
		return err
	}
	r.report.Units = map[string]state.UnitReport{}
	names, seen := r.query.units(), blocks(lines)
	if r.report.Facts.Systemd && len(seen) < len(names) {
		return unexpected("units", fmt.Sprintf("systemd tells of %d of %d", len(seen), len(names)))
	}
	for n, block := range seen {
		if n >= len(names) {
			return unexpected("units", strings.Join(lines, " "))
		}
		load, u := "", state.UnitReport{}
		for _, line := range block {
			key, value, _ := strings.Cut(line, "=")
			if !isWord(value) {
				return unexpected("units", line)
			}
			switch key {
			case "LoadState":
				load = value
			case "ActiveState":
				u.Active = value
			case "UnitFileState":
				u.Enabled = value
			default:
				return unexpected("units", line)
			}
		}
		if u.Exists = load != "" && load != "not-found"; !u.Exists {
			u = state.UnitReport{}
		}
		r.report.Units[names[n]] = u
	}
	r.report.Facts.SystemdResolved = r.report.Units[resolvedUnit].Active == "active"
	if !slices.Contains(r.query.Units, resolvedUnit) {
		delete(r.report.Units, resolvedUnit)
	}
	return nil
}

// blocks splits lines at blank lines.
func blocks(lines []string) [][]string {
	var out [][]string
	var block []string
	for _, line := range append(slices.Clone(lines), "") {
		if line != "" {
			block = append(block, line)
		} else if block != nil {
			out, block = append(out, block), nil
		}
	}
	return out
}

// simple parses sysctls, modules and commands.
func (r *reading) simple() error {
	sysctls, err := r.lines("sysctls")
	if err != nil {
		return err
	}
	r.report.Sysctls = map[string]string{}
	for _, line := range sysctls {
		file, value, _ := strings.Cut(line, ":")
		i := slices.IndexFunc(r.query.Sysctls, func(name string) bool { return sysctlPath(name) == file })
		if i < 0 {
			return unexpected("sysctls", line)
		}
		r.report.Sysctls[r.query.Sysctls[i]] = strings.Join(strings.Fields(providers.Sanitize(value, 4096)), " ")
	}
	if r.report.Modules, err = r.present("modules", r.query.Modules); err != nil {
		return err
	}
	if r.report.NoModules, err = r.present("no_modules", r.query.Modules); err != nil {
		return err
	}
	if r.report.Commands, err = r.present("commands", r.query.Commands); err != nil {
		return err
	}
	r.report.Users, err = users(r)
	return err
}

// users returns which users and groups exist.
func users(r *reading) (map[string]state.UserReport, error) {
	if len(r.query.Users) == 0 {
		return nil, nil
	}
	var asked []string
	for _, name := range r.query.Users {
		asked = append(asked, "user "+name, "group "+name)
	}
	present, err := r.present("users", asked)
	out := map[string]state.UserReport{}
	for _, name := range r.query.Users {
		out[name] = state.UserReport{User: present["user "+name], Group: present["group "+name]}
	}
	return out, err
}

// present parses a list of the requested names that exist.
func (r *reading) present(name string, asked []string) (map[string]bool, error) {
	lines, err := r.lines(name)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, a := range asked {
		out[a] = false
	}
	for _, line := range lines {
		if _, ok := out[line]; !ok {
			return nil, unexpected(name, line)
		}
		out[line] = true
	}
	return out, nil
}

// ports parses /proc/net/tcp and tcp6; the local address is ADDRESS:PORT in hex.
func (r *reading) ports() error {
	if len(r.query.Ports) == 0 {
		return nil
	}
	lines, err := r.lines("ports")
	if err != nil {
		return err
	}
	listening := map[int]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		if len(words) < 4 {
			return unexpected("ports", line)
		}
		_, hexPort, _ := strings.Cut(words[1], ":")
		port, err := strconv.ParseUint(hexPort, 16, 16)
		if err != nil {
			return unexpected("ports", line)
		}
		listening[int(port)] = true
	}
	r.report.Ports = map[int]bool{}
	for _, p := range r.query.Ports {
		r.report.Ports[p] = listening[p]
	}
	return nil
}

// slow parses the versions and images.
func (r *reading) slow() error {
	files, err := r.lines("programs")
	if err != nil {
		return err
	}
	p := &r.report.Programs
	p.Files = strings.Join(files, " ")
	if p.Files == r.query.Programs.Files && len(r.sections["versions"]) == 0 {
		p.Versions = r.query.Programs.Versions
	} else if p.Versions, err = r.versions(); err != nil {
		return err
	}
	f := &r.report.Facts
	for _, line := range p.Versions {
		m := versionForm.FindStringSubmatch(line)
		switch {
		case m == nil:
		case strings.HasPrefix(line, "Kubernetes "):
			f.KubeletVersion = m[1]
		case strings.HasPrefix(line, "containerd ") || strings.HasPrefix(line, "crio version"):
			f.RuntimeVersion = m[1]
		}
	}
	if !r.query.Images || len(r.sections["images"]) == 0 {
		return nil
	}
	if len(r.sections["no_images"]) > 0 {
		socket := r.runtime()
		if socket == "" {
			return nil // no runtime listens; its socket file is left over
		}
		return unexpected("images", "a runtime listens at "+socket+" and does not list them")
	}
	body := r.sections["images"][0].body
	if strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		return r.crictlImages(body)
	}
	for line := range strings.FieldsSeq(string(body)) {
		if err := r.addImage(line); err != nil {
			return err
		}
	}
	return nil
}

// versions returns the lines in which a program prints its version, escaped; it skips
// warnings and the like.
func (r *reading) versions() ([]string, error) {
	lines, err := r.lines("versions")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range lines {
		if versionForm.MatchString(line) {
			out = append(out, providers.Sanitize(line, 200))
		}
	}
	slices.Sort(out) // they finish in any order
	return out, nil
}

func (r *reading) crictlImages(body []byte) error {
	var list struct {
		Images []struct{ RepoTags, RepoDigests []string }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return unexpected("images", err.Error())
	}
	for _, image := range list.Images {
		for _, name := range slices.Concat(image.RepoTags, image.RepoDigests) {
			if err := r.addImage(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// addImage records an image by name; containerd also lists every one by its ID alone.
func (r *reading) addImage(name string) error {
	if strings.HasPrefix(name, "sha256:") || strings.Contains(name, "<none>") {
		return nil
	}
	if len(r.report.Images) == mostImages {
		return r.refused("images", fmt.Errorf("%s is one of more than %d images", providers.Sanitize(name, 200), mostImages))
	}
	r.report.Images = append(r.report.Images, providers.Sanitize(name, 512))
	return nil
}

// The values that a host may report for preflight checks: for every host kw_room, for a
// host that is to join kw_preflight as well.
var (
	roomKeys      = []string{"etc_writable", "etc_free_kib", "var_lib_free_kib"}
	preflightKeys = []string{"root", "kmsg", "cgroup_controllers", "kernel_config", "kernel_missing", "etcd_disk"}
)

// preflight parses the values that only preflight checks need: root, etc_writable, kmsg and
// hostname_resolves are true or false; endpoint_addresses are the addresses of the name of the
// endpoint; cgroup_controllers and kernel_missing are names
// separated by blanks, the latter only if kernel_config is known; cri is the state of
// containerd's CRI plugin, or disabled, or empty if unknown; etc_free_kib and
// var_lib_free_kib are numbers; etcd_disk is FLUSHES/MILLISECONDS, empty if unknown; for unreachable and path_mtu see between.
func (r *reading) preflight() error {
	r.report.Preflight = map[string]string{}
	if err := r.answers("room", roomKeys); err != nil || !r.query.Preflight {
		return err
	}
	resolves, err := r.lines("resolves")
	if err != nil {
		return err
	}
	if len(resolves) == 0 {
		return unexpected("resolves", "")
	}
	r.report.Preflight["hostname_resolves"] = resolves[0]
	if r.query.Endpoint != "" {
		r.report.Preflight["endpoint_addresses"] = strings.Join(resolves[1:], " ")
	}
	cri, err := r.lines("cri")
	if err != nil {
		return err
	}
	r.report.Preflight["cri"] = strings.Join(cri, " ")
	if !isWord(r.report.Preflight["cri"]) {
		return unexpected("cri", r.report.Preflight["cri"])
	}
	if err := between(r); err != nil {
		return err
	}
	return r.answers("preflight", preflightKeys)
}

// between parses what lies between this host and others: unreachable are those of the peers that do
// not answer, separated by blanks, and path_mtu is INTERFACE/MTU if packets of that size get lost on
// the way.
func between(r *reading) error {
	lines, err := r.lines("between")
	if err != nil {
		return err
	}
	var unreachable []string
	for _, line := range lines {
		kind, value, _ := strings.Cut(line, " ")
		device, mtu, _ := strings.Cut(value, "/")
		_, number := strconv.Atoi(mtu)
		switch {
		case kind == "port" && slices.Contains(r.query.Peers, value):
			unreachable = append(unreachable, value)
		case kind == "mtu" && isWord(device) && number == nil && r.query.PathTo != "":
			r.report.Preflight["path_mtu"] = value
		default:
			return unexpected("between", line)
		}
	}
	slices.Sort(unreachable)
	r.report.Preflight["unreachable"] = strings.Join(unreachable, " ")
	return nil
}

// answers parses a section of names with a value each.
func (r *reading) answers(section string, known []string) error {
	lines, err := r.lines(section)
	if err != nil {
		return err
	}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		if !slices.Contains(known, key) {
			return unexpected(section, line)
		}
		r.report.Preflight[key] = providers.Sanitize(value, 1024)
	}
	return nil
}
