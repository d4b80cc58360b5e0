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

// Memory is a cache of the contents of artifact files, by their size and modification time, so
// that a folder of some hundred megabytes is not reread for every plan. It is not trusted:
// files are checksummed again when they are sent to a host. The zero Memory caches nothing.
type Memory struct {
	// File is the cache file; it need not exist, and may be deleted.
	File string

	mu    sync.Mutex
	read  bool
	dirty bool
	known map[string]remembered
}

// remembered is the content of a file, with its modification time.
type remembered struct {
	// Format is the format of Artifact: an entry in another format is reread.
	Format   int             `json:"format"`
	Size     int64           `json:"size"`
	Changed  time.Time       `json:"changed"`
	Artifact config.Artifact `json:"artifact"`
}

// memoryFormat increases when more is read from a file than before: 2 has versions.
const memoryFormat = 2

// settled is the minimum age of a file, by its modification time, to be cached: a younger one
// may change again within the clock's resolution.
const settled = 2 * time.Second

// maxMemory limits, in bytes, how much of a cache file is read.
const maxMemory = 64 << 20

func (m *Memory) load() {
	if m.read {
		return
	}
	m.read, m.known = true, map[string]remembered{}
	if content, err := safefile.Read(m.File, maxMemory); err == nil && json.Unmarshal(content, &m.known) != nil {
		m.known = map[string]remembered{} // invalid or truncated: it is recreated
	}
}

// recall returns the cached content of a file.
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

// keep caches the content of a file. info is from before it was read.
func (m *Memory) keep(path string, info fs.FileInfo, a config.Artifact) {
	if m.File == "" || time.Since(info.ModTime()) < settled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	m.known[path], m.dirty = remembered{Format: memoryFormat, Size: info.Size(), Changed: info.ModTime(), Artifact: a}, true
}

// save writes the cache and forgets files that are gone. A write error does no harm.
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
	_ = safefile.WriteFile(m.File, content, 0o600) // atomically, since another run may read it
}
