package artifacts

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state/safefile"
)

// Memory remembers what files of artifacts held, by their size and time of
// change, so that a folder of some hundred megabytes is not reread for every
// plan. It is a help and no truth: what is sent to a host is summed again. The
// zero Memory remembers nothing.
type Memory struct {
	// File is where it is kept between runs; it need not exist, and may go.
	File string

	mu    sync.Mutex
	read  bool
	dirty bool
	known map[string]remembered
}

// remembered is what a file was found to hold, and when it was last changed.
type remembered struct {
	// Format is that of Artifact: what was remembered in another is reread.
	Format   int             `json:"format"`
	Size     int64           `json:"size"`
	Changed  time.Time       `json:"changed"`
	Artifact config.Artifact `json:"artifact"`
}

// memoryFormat grows when more is read from a file than before: 2 has versions.
const memoryFormat = 2

// settled is the age, by its time of change, from which a file is remembered:
// a younger one may change again within the clock's grain.
const settled = 2 * time.Second

// maxMemory bounds in bytes what is read of a memory.
const maxMemory = 64 << 20

func (m *Memory) load() {
	if m.read {
		return
	}
	m.read, m.known = true, map[string]remembered{}
	if content, err := safefile.Read(m.File, maxMemory); err == nil && json.Unmarshal(content, &m.known) != nil {
		m.known = map[string]remembered{} // somebody else's, or half of it: it is recreated
	}
}

// recall returns what a file is known to hold.
func (m *Memory) recall(path string, info fs.FileInfo) (config.Artifact, bool) {
	if m.File == "" {
		return config.Artifact{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	r, ok := m.known[path]
	return r.Artifact, ok && r.Format == memoryFormat && r.Size == info.Size() && r.Changed.Equal(info.ModTime())
}

// keep notes what a file holds. The info is from before it was read.
func (m *Memory) keep(path string, info fs.FileInfo, a config.Artifact) {
	if m.File == "" || time.Since(info.ModTime()) < settled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	m.known[path], m.dirty = remembered{Format: memoryFormat, Size: info.Size(), Changed: info.ModTime(), Artifact: a}, true
}

// save writes what was learnt and forgets files that are gone. That it cannot
// be written is no harm.
func (m *Memory) save() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirty {
		return
	}
	m.dirty = false
	for path := range m.known {
		if _, err := os.Stat(path); err != nil {
			delete(m.known, path)
		}
	}
	content, err := json.Marshal(m.known)
	if err != nil || os.MkdirAll(filepath.Dir(m.File), 0o700) != nil {
		return
	}
	_ = safefile.WriteFile(m.File, content, 0o600) // as a whole, since another run may read it
}
