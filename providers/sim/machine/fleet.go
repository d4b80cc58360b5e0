package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// Time is the progress of a world.
type Time interface {
	// Advance lets time pass, and the world settle.
	Advance(d time.Duration)
	// Settle lets all events of the present time happen.
	Settle()
}

// Fleet is the machines of a world and their shared data: the time, the seed from which all
// arbitrary values are derived, the profile of new machines, and the contents of files, by
// digest.
type Fleet struct {
	Seed    int64
	Now     time.Time
	Profile Profile
	Hosts   map[string]*Machine  // by address
	Blobs   map[string]file.Blob // by SHA-256
	// Time is the world's.
	Time Time
	// HashPod, if set, is the kubelet's hash of a static pod.
	HashPod func(manifest []byte, path, node, kubeletVersion string) string

	baselines map[Profile]*Baseline
	bases     map[*Profile]*Baseline         // baselines, by what machines have
	manifests map[string]*staticpod.Manifest // by SHA-256
	configs   map[string]config              // by SHA-256
	hashes    map[[4]string]string
	names     map[string]string // host names and IP addresses → address
	podHosts  map[string]bool   // addresses of machines that run static pods
	pending   map[string]bool   // addresses of machines on which something is under way
	Changes   map[string]int    // by what and where
}

// NewFleet returns a fleet of the given machines.
func NewFleet(seed int64, now time.Time, p Profile, hosts map[string]*Machine, blobs map[string]file.Blob) *Fleet {
	f := &Fleet{
		Seed: seed, Now: now, Profile: p, Hosts: hosts, Blobs: blobs,
		manifests: map[string]*staticpod.Manifest{}, configs: map[string]config{}, hashes: map[[4]string]string{},
		names: map[string]string{}, podHosts: map[string]bool{}, pending: map[string]bool{},
	}
	if f.Hosts == nil {
		f.Hosts = map[string]*Machine{}
	}
	if f.Blobs == nil {
		f.Blobs = map[string]file.Blob{}
	}
	f.ForgetBaselines()
	for address, m := range f.Hosts {
		m.Address, m.fleet = address, f
		f.Index(m)
		m.Wake()
		m.PodsChanged()
	}
	return f
}

// Clone returns a fleet of copies of the machines, with the same time and contents.
func (fl *Fleet) Clone(hosts map[string]*Machine, blobs map[string]file.Blob) *Fleet {
	out := *fl
	out.Hosts, out.Blobs = hosts, blobs
	out.Time, out.Changes = nil, nil
	// The values are immutable, so copies of the maps suffice.
	out.baselines, out.bases = maps.Clone(fl.baselines), maps.Clone(fl.bases)
	out.manifests, out.configs, out.hashes = maps.Clone(fl.manifests), maps.Clone(fl.configs), maps.Clone(fl.hashes)
	out.names, out.podHosts, out.pending = maps.Clone(fl.names), maps.Clone(fl.podHosts), maps.Clone(fl.pending)
	for _, m := range hosts {
		m.fleet = &out
	}
	return &out
}

// SetProfile sets the profile of machines that have none of their own.
func (fl *Fleet) SetProfile(p Profile) {
	fl.Profile = p
	delete(fl.bases, nil)
}

// ForgetBaselines drops the data derived from profiles: it is derived again, with its
// contents, when needed.
func (fl *Fleet) ForgetBaselines() {
	fl.baselines, fl.bases = map[Profile]*Baseline{}, map[*Profile]*Baseline{}
}

// Machines returns all machines, by address.
func (fl *Fleet) Machines() []*Machine { return fl.those(slices.Sorted(maps.Keys(fl.Hosts))) }

// StaticPodHosts returns the machines that run static pods, by address.
func (fl *Fleet) StaticPodHosts() []*Machine {
	return fl.those(slices.Sorted(maps.Keys(fl.podHosts)))
}

// Awake returns the machines on which something may be under way, by address.
func (fl *Fleet) Awake() []*Machine { return fl.those(slices.Sorted(maps.Keys(fl.pending))) }

func (fl *Fleet) those(addresses []string) []*Machine {
	out := make([]*Machine, 0, len(addresses))
	for _, address := range addresses {
		out = append(out, fl.Hosts[address])
	}
	return out
}

// PodsChanged updates the fleet's index of machines that run static pods.
func (m *Machine) PodsChanged() {
	if len(m.Pods) > 0 {
		m.fleet.podHosts[m.Address] = true
	} else {
		delete(m.fleet.podHosts, m.Address)
	}
}

// Rename gives the machine another name.
func (m *Machine) Rename(hostname string) {
	delete(m.fleet.names, m.Name())
	m.Hostname = hostname
	m.fleet.Index(m)
}

// Wake marks the machine as one on which something may be under way.
func (m *Machine) Wake() { m.fleet.pending[m.Address] = true }

// WakeHost wakes the machine at an address.
func (fl *Fleet) WakeHost(address string) { fl.pending[address] = true }

// Sleep marks the machine as one on which nothing happens by itself.
func (m *Machine) Sleep() { delete(m.fleet.pending, m.Address) }

// Advance lets time pass in the world.
func (fl *Fleet) Advance(d time.Duration) { fl.Time.Advance(d) }

func (fl *Fleet) settle() { fl.Time.Settle() }

// Derive returns hex digits derived from the seed and the parts.
func (fl *Fleet) Derive(digits int, parts ...string) string {
	h := sha256.New()
	h.Write([]byte(strconv.FormatInt(fl.Seed, 10)))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// NextNumber returns a number for something new on a host, so that new things there do not
// depend on concurrent events elsewhere.
func (m *Machine) NextNumber() string {
	m.Made++
	return strconv.Itoa(m.Made)
}

// Machine returns the machine at an address, and makes it on first use.
func (fl *Fleet) Machine(address string) *Machine {
	m := fl.Hosts[address]
	if m == nil {
		m = &Machine{Address: address, fleet: fl}
		fl.Hosts[address] = m
		fl.Index(m)
	}
	return m
}

// Index registers a machine under its name and addresses.
func (fl *Fleet) Index(m *Machine) {
	for _, name := range append(m.IPs(), m.Name(), m.Address) {
		name = state.CanonicalIP(name)
		if other, taken := fl.names[name]; !taken || other == m.Address || name == state.CanonicalIP(m.Address) {
			fl.names[name] = m.Address
		}
	}
}

// Find returns the machine that a name or IP address belongs to, or nil.
func (fl *Fleet) Find(name string) *Machine {
	address, ok := fl.names[state.CanonicalIP(strings.Trim(name, "[]"))]
	if !ok {
		return nil
	}
	return fl.Hosts[address]
}

// CountChange counts a change.
func (m *Machine) CountChange(what string) {
	if m.fleet.Changes == nil {
		m.fleet.Changes = map[string]int{}
	}
	m.fleet.Changes[what+" on "+m.Address]++
}
