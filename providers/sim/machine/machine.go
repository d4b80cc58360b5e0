package machine

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// Machine is a simulated host: its differences from the baseline of its profile.
type Machine struct {
	// Address is the address at which the machine is reached.
	Address string `json:"-"`
	fleet   *Fleet

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
	// Token is the highest run token seen, Lineage the lineage of its state.
	Token   int64  `json:"token,omitempty"`
	Lineage string `json:"lineage,omitempty"`
	// Run is the first run that had the token.
	Run string `json:"run,omitempty"`
	// Unreadable names the file of the marks that is garbage.
	Unreadable string `json:"unreadable,omitempty"`

	// Deprecated are the deprecated APIs that were requested from the API server here.
	Deprecated []state.DeprecatedAPI `json:"deprecated,omitempty"`

	Files    map[string]*file.File `json:"files,omitempty"`
	Versions map[string]string     `json:"versions,omitempty"` // of installed binaries, by path
	Before   map[string]*file.File `json:"before,omitempty"`   // preserved files, by path
	// Was has what else was preserved, by path: absent, or mode and owner of a folder. Around are the
	// folders that were made around such paths.
	Was map[string]string `json:"was,omitempty"`
	// RuntimeStarted is when a container runtime was started by us, by its unit.
	RuntimeStarted map[string]time.Time `json:"runtime_started,omitempty"`
	Around         map[string]string    `json:"around,omitempty"`
	Units          map[string]Unit      `json:"units,omitempty"`
	Images         map[string]bool      `json:"images,omitempty"` // false: removed
	Packages       map[string]*Package  `json:"packages,omitempty"`
	Sysctls        map[string]string    `json:"sysctls,omitempty"`
	Modules        map[string]bool      `json:"modules,omitempty"`
	// Users are the users that exist besides those of the baseline, each with its group.
	Users []string `json:"users,omitempty"`
	// SwapOff reports whether swap was turned off; SwapOn that it is on although the
	// profile has none.
	SwapOff bool     `json:"swap_off,omitempty"`
	SwapOn  bool     `json:"swap_on,omitempty"`
	Mounts  []string `json:"mounts,omitempty"`
	Links   []string `json:"links,omitempty"`
	Rules   []string `json:"rules,omitempty"`

	Kubelet *KubeletProcess `json:"kubelet,omitempty"`
	// Checkpoints are the settings in the kubelet's checkpoints, by path, where they are not the
	// default ones.
	Checkpoints map[string]string     `json:"checkpoints,omitempty"`
	Pods        map[string]*StaticPod `json:"pods,omitempty"`
	Daemons     []string              `json:"daemons,omitempty"`
	// ProxyRead identifies the configuration that kube-proxy read at its start here.
	ProxyRead string `json:"proxy_read,omitempty"`
}

// HardwareProfile returns the machine's own profile, or that of the world.
func (m *Machine) HardwareProfile() Profile {
	if m.Profile != nil {
		return *m.Profile
	}
	return m.fleet.Profile
}

// Baseline returns the machine's baseline. Since it is needed for every file, it is looked
// up by the address of the immutable profile instead of its contents.
func (m *Machine) Baseline() *Baseline {
	b := m.fleet.bases[m.Profile]
	if b == nil {
		b = m.fleet.baselineOf(m.HardwareProfile())
		m.fleet.bases[m.Profile] = b
	}
	return b
}

// Name returns the host's own name: its address if that is a name, otherwise one derived
// from the address.
func (m *Machine) Name() string {
	if m.Hostname != "" {
		return m.Hostname
	}
	if _, err := netip.ParseAddr(m.Address); err != nil {
		return strings.ToLower(m.Address)
	}
	return "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(m.Address)
}

// IPs returns the host's IP addresses; a host known by a name gets one.
func (m *Machine) IPs() []string {
	if len(m.Addresses) > 0 {
		return m.Addresses
	}
	if _, err := netip.ParseAddr(m.Address); err == nil {
		return []string{m.Address}
	}
	h := m.fleet.Derive(6, "ip", m.Address)
	var b [3]byte
	_, _ = fmt.Sscanf(h, "%02x%02x%02x", &b[0], &b[1], &b[2])
	return []string{fmt.Sprintf("10.%d.%d.%d", 64+b[0]%64, b[1], 1+b[2]%254)}
}

// Clock returns the host's own time.
func (m *Machine) Clock() time.Time { return m.fleet.Now.Add(m.Conditions.ClockSkew) }

// Version returns the version of a program on the host, or "".
func (m *Machine) Version(program string) string {
	for _, dir := range []string{"/usr/local/bin/", "/usr/bin/"} {
		p := dir + program
		if m.File(p) == nil {
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
			return m.HardwareProfile().KubeletVersion
		case "containerd":
			return m.HardwareProfile().RuntimeVersion
		}
	}
	return ""
}

// HasProgram reports whether a program is at the path that units use.
func (m *Machine) HasProgram(program string) bool {
	return m.File("/usr/local/bin/"+program) != nil || m.File("/usr/bin/"+program) != nil
}

// Arch returns the host's architecture.
func (m *Machine) Arch() string {
	if m.Conditions.Arch != "" {
		return m.Conditions.Arch
	}
	return m.HardwareProfile().Arch
}
