package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state/safefile"
)

// formatVersion is the number of the world file's format.
const formatVersion = 1

// World is a fleet of hosts with their clusters. Its methods, and those of its hosts, clocks
// and clients, may be called from several goroutines.
type World struct {
	// OnEffect, if set, is called before and after every requested effect. An error stops
	// the call with that error, before or after the effect; a panic passes through. It must
	// not call the world.
	OnEffect func(Effect) error

	// OnObserve, if set, is called before each observation of a host, which waits for it to
	// return. An error becomes the answer. It must be set before the world is used.
	OnObserve func(ctx context.Context, host string) error

	// PodHash, if set, returns the kubelet's hash of a static pod, from its manifest, the
	// manifest's path, the node's name and the kubelet's version. Without it, or if it
	// returns "", a hash of the parsed manifest is used. It must be set before the world is
	// used.
	PodHash func(manifest []byte, path, node, kubeletVersion string) string

	// Pace, if set, is called for every sleep on the world's clock, and returns after the
	// time that a spectator should wait. It must be set before the world is used.
	Pace func(ctx context.Context, d time.Duration)

	// Durable writes the file at each effect before the answer, so that simulated hosts
	// keep their state when the operator's process is killed, as real ones do. It must be
	// set before the world is used.
	Durable bool

	// Watch checks the invariants after every effect: see Violations.
	Watch bool

	mu      sync.Mutex
	file    worldFile
	fleet   *machine.Fleet
	etcds   *etcd.Clusters
	servers *apiserver.Servers
	time    *timeline
	faults  faults
	// format and made are those of the file.
	format, made int
	effects      int
	// violations are those found by Watch.
	violations []string
}

// saved is the world's file.
type saved struct {
	Format   int                         `json:"format"`
	Seed     int64                       `json:"seed"`
	Now      time.Time                   `json:"now"`
	Profile  machine.Profile             `json:"profile"`
	Hosts    map[string]*machine.Machine `json:"hosts,omitempty"`
	Clusters map[string]*etcd.Cluster    `json:"clusters,omitempty"`
	Blobs    map[string]file.Blob        `json:"blobs,omitempty"`
	Faults   faults                      `json:"faults,omitempty"`
	// Made counts the derived values, so that each is unique.
	Made int `json:"made,omitempty"`
}

// New returns an empty world without a file.
func New(seed int64, p machine.Profile) *World {
	return fromSaved(saved{Format: formatVersion, Seed: seed, Now: etcd.Epoch, Profile: p})
}

func fromSaved(d saved) *World {
	return newWorld(machine.NewFleet(d.Seed, d.Now, d.Profile, d.Hosts, d.Blobs), d)
}

// newWorld returns the world of a fleet, with the clusters and faults that were saved.
func newWorld(fleet *machine.Fleet, d saved) *World {
	w := &World{fleet: fleet, etcds: etcd.NewClusters(fleet, d.Clusters), faults: d.Faults, format: d.Format, made: d.Made}
	w.servers = &apiserver.Servers{Clusters: w.etcds}
	w.time = &timeline{servers: w.servers, workers: map[*worker]bool{}}
	fleet.Time = w.time
	fleet.HashPod = func(manifest []byte, path, node, kubeletVersion string) string {
		if w.PodHash == nil {
			return ""
		}
		return w.PodHash(manifest, path, node, kubeletVersion)
	}
	return w
}

// saved returns the saved part of a world.
func (w *World) saved() saved {
	return saved{
		Format: w.format, Seed: w.fleet.Seed, Now: w.fleet.Now, Profile: w.fleet.Profile,
		Hosts: w.fleet.Hosts, Clusters: w.etcds.ByID, Blobs: w.fleet.Blobs, Faults: w.faults, Made: w.made,
	}
}

// maxFile bounds the size of a world's file, in bytes.
const maxFile = 1 << 30

// Open reads a world's file. If the file does not exist, it returns an empty world with
// seed 1 and the default profile.
func Open(path string) (*World, error) {
	file := worldFile{path, written(path)}
	b, err := safefile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		w := New(1, machine.DefaultProfile())
		w.file = file
		return w, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open simulated world: %w", err)
	}
	var d saved
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("cannot open simulated world %s: %w", path, err)
	}
	if d.Format > formatVersion {
		return nil, fmt.Errorf("cannot open simulated world %s: its format %d is newer than this program's %d; use that version", path, d.Format, formatVersion)
	}
	for _, c := range d.Clusters {
		c.Initialize()
		for _, n := range c.Nodes {
			n.Rested = true
		}
	}
	w := fromSaved(d)
	w.file = file
	return w, nil
}

// Save writes the world to the file it was opened from, atomically. If another command has
// written the file in the meantime it writes nothing, so that no host loses that command's
// changes.
func (w *World) Save() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file.path == "" {
		return errors.New("cannot save simulated world: it was not opened from a file")
	}
	err := w.file.unchanged()
	if err == nil {
		var b []byte
		if b, err = w.encode(); err == nil {
			err = w.file.write(b)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot save simulated world: %w", err)
	}
	return nil
}

// JSON returns what Save writes.
func (w *World) JSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encode()
}

// Seed returns the number from which all arbitrary values are derived.
func (w *World) Seed() int64 { return w.fleet.Seed }

// SetSeed changes the seed of a world in which nothing has happened yet.
func (w *World) SetSeed(seed int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.Seed = seed
}

// SetProfile sets the profile of hosts that have none of their own.
func (w *World) SetProfile(p machine.Profile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet.SetProfile(p)
}

// Hosts lists the addresses of all hosts, in order.
func (w *World) Hosts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.fleet.Hosts))
}

// Now returns the world's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fleet.Now
}

// Advance lets time pass.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time.Advance(d)
}
