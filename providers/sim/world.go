package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kubewright/kubewright/state/safefile"
)

// formatVersion is the number of the world file's format.
const formatVersion = 1

// epoch is when a new world begins.
var epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// World is a fleet and everything it holds. Its methods, and those of the
// hosts, clocks and clients it hands out, may be called from several goroutines.
type World struct {
	// OnEffect, when set, is called before and after every effect that is asked
	// for. An error stops the call with that error, before or after the effect;
	// a panic passes through. It must not call the world.
	OnEffect func(Effect) error

	// OnObserve, when set, is called before a host is looked at, and the host does not
	// answer until it has returned. An error is the answer. It is to be set before the
	// world is used.
	OnObserve func(ctx context.Context, host string) error

	// PodHash, when set, is the kubelet's hash of a static pod: of its manifest,
	// where that lies, the node's name and the kubelet's version. Without it, or
	// where it is empty, a hash of the parsed manifest stands for it. It is to be
	// set before the world is used.
	PodHash func(manifest []byte, path, node, kubeletVersion string) string

	// Pace, when set, is called where somebody sleeps on the world's clock, and
	// returns when that has lasted long enough for a spectator. It is to be set
	// before the world is used.
	Pace func(ctx context.Context, d time.Duration)

	// Durable has the file hold each effect before it is answered, so that
	// simulated hosts survive an operator who is killed, as real ones do. It is
	// to be set before the world is used.
	Durable bool

	// Watch has every effect followed by a look at what has to hold throughout:
	// see Violations.
	Watch bool

	mu        sync.Mutex
	path      string
	d         saved
	baselines map[Profile]*baseline
	bases     map[*Profile]*baseline // baselines, by what machines have
	manifests map[string]*manifest   // by SHA-256
	settings  map[string]settings    // by SHA-256
	hashes    map[[4]string]string
	names     map[string]string // host names and IP addresses → address
	planes    map[string]bool   // addresses of hosts that run static pods
	pending   map[string]bool   // addresses of hosts on which something is under way
	effects   int
	workers   map[*worker]bool
	sleepers  []*sleeper
	// kept is what this world has read or written last.
	kept version
	// violations are what Watch has found.
	violations []string
	deeds      map[string]int
}

// saved is the world's file.
type saved struct {
	Format   int                 `json:"format"`
	Seed     int64               `json:"seed"`
	Now      time.Time           `json:"now"`
	Profile  Profile             `json:"profile"`
	Hosts    map[string]*machine `json:"hosts,omitempty"`
	Clusters map[string]*cluster `json:"clusters,omitempty"`
	Blobs    map[string]blob     `json:"blobs,omitempty"`
	Faults   []*Fault            `json:"faults,omitempty"`
	// Made counts what was derived, so that nothing is derived twice.
	Made int `json:"made,omitempty"`
}

// New makes an empty world that is kept nowhere until it is opened from a file.
func New(seed int64, p Profile) *World {
	w := &World{d: saved{Format: formatVersion, Seed: seed, Now: epoch, Profile: p}}
	w.index()
	return w
}

// maxFile bounds in bytes what is read of a world's file.
const maxFile = 1 << 30

// Open reads a world's file. A file that does not exist is an empty world with
// seed 1 and the default profile.
func Open(path string) (*World, error) {
	w := New(1, DefaultProfile())
	w.path, w.kept = path, written(path)
	b, err := safefile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open simulated world: %w", err)
	}
	w.d = saved{}
	if err := json.Unmarshal(b, &w.d); err != nil {
		return nil, fmt.Errorf("cannot open simulated world %s: %w", path, err)
	}
	if w.d.Format > formatVersion {
		return nil, fmt.Errorf("cannot open simulated world %s: its format %d is newer than this program's %d; use that version", path, w.d.Format, formatVersion)
	}
	w.index()
	for _, c := range w.d.Clusters {
		for _, n := range c.Nodes {
			n.rested = true
		}
	}
	return w, nil
}

// index fills what is not kept in the file.
func (w *World) index() {
	w.baselines, w.bases = map[Profile]*baseline{}, map[*Profile]*baseline{}
	w.manifests, w.settings, w.hashes = map[string]*manifest{}, map[string]settings{}, map[[4]string]string{}
	w.workers = map[*worker]bool{}
	w.names, w.planes, w.pending = map[string]string{}, map[string]bool{}, map[string]bool{}
	if w.d.Hosts == nil {
		w.d.Hosts = map[string]*machine{}
	}
	if w.d.Clusters == nil {
		w.d.Clusters = map[string]*cluster{}
	}
	if w.d.Blobs == nil {
		w.d.Blobs = map[string]blob{}
	}
	for address, m := range w.d.Hosts {
		m.address = address
		w.know(m)
		w.wake(m)
		if len(m.Pods) > 0 {
			w.planes[address] = true
		}
	}
	for _, c := range w.d.Clusters {
		c.init()
	}
}

// Save writes the world to the file it was opened from, in one step. Where another
// command has written that meanwhile it writes nothing: hosts do not forget what
// somebody else did to them.
func (w *World) Save() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path == "" {
		return errors.New("cannot save simulated world: it was not opened from a file")
	}
	b, err := w.toKeep()
	if err != nil {
		return fmt.Errorf("cannot save simulated world: %w", err)
	}
	if err := safefile.WriteFile(w.path, b, 0o600); err != nil {
		return fmt.Errorf("cannot save simulated world: %w", err)
	}
	w.kept = written(w.path)
	return nil
}

// toKeep returns the world as it is written, unless another command has written its file.
func (w *World) toKeep() ([]byte, error) {
	if written(w.path) != w.kept {
		return nil, fmt.Errorf("another command has changed its hosts meanwhile, and %s stays as that left it", w.path)
	}
	return w.encode()
}

// version tells one writing of a file from another.
type version struct {
	at   time.Time
	size int64
}

// written returns the version of a file that is there now, zero of none.
func written(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// keep is Save for one effect of many: a process may be killed behind it, but
// a loss of power may take it.
func (w *World) keep() error {
	b, err := w.toKeep()
	if err == nil {
		err = w.replace(b)
	}
	if err == nil {
		w.kept = written(w.path)
	}
	return err
}

// replace writes the world's file without waiting for the disk.
func (w *World) replace(b []byte) error {
	if err := safefile.Overwrite(w.path+".new", b); err != nil {
		return err
	}
	return safefile.Rename(w.path+".new", w.path)
}

// JSON returns what Save writes.
func (w *World) JSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encode()
}

// Seed returns the number that everything arbitrary is derived from.
func (w *World) Seed() int64 { return w.d.Seed }

// SetSeed changes the seed of a world in which nothing has happened yet.
func (w *World) SetSeed(seed int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.d.Seed = seed
}

// SetProfile sets what hosts are that spring up from now on, and those that
// are still as they sprang up.
func (w *World) SetProfile(p Profile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.d.Profile = p
	delete(w.bases, nil)
}

// Hosts lists the addresses of all hosts, in order.
func (w *World) Hosts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.d.Hosts))
}

// Now returns the world's time.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.d.Now
}

// Advance lets time pass.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(d)
}

// derive is hex digits that follow from the seed and the parts.
func (w *World) derive(digits int, parts ...string) string {
	h := sha256.New()
	h.Write([]byte(strconv.FormatInt(w.d.Seed, 10)))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// next returns a number for something new on a host, so that what is made there
// does not depend on what happens elsewhere at the same time.
func (m *machine) next() string {
	m.Made++
	return strconv.Itoa(m.Made)
}
