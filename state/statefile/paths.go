package statefile

import (
	"path/filepath"
	"strconv"

	"github.com/kubewright/kubewright/state"
)

// DefaultName is the name of the state file in the configuration folder.
const DefaultName = "kubewright.state.json"

// Generations is how many older states are kept.
const Generations = 10

// Paths are the names of all files that belong to one state.
type Paths struct {
	// State is the state file; older ones lie beside it as STATE.backup.SERIAL.
	State   string
	Journal string
	Lock    string
	// Errored is the file for a state that its backend did not accept.
	Errored string
	// Snapshots is the folder for snapshots of etcd.
	Snapshots string
	// FS is the file system of these files; nil stands for OS.
	FS FS
	// Codec is the codec of state, older states and journal; nil for plain files.
	Codec state.Codec
}

func (p Paths) medium() medium {
	if p.FS == nil {
		return medium{OS(), p.Codec}
	}
	return medium{p.FS, p.Codec}
}

// NewPaths derives all names from the name of the state file. The default file has
// kubewright.journal and kubewright.state.lock beside it; any other file NAME has NAME.journal,
// NAME.lock and so on, so two states in one folder never share a file.
func NewPaths(statePath string) Paths {
	dir, name := filepath.Split(statePath)
	if name == DefaultName {
		return Paths{State: statePath, Journal: dir + "kubewright.journal", Lock: dir + "kubewright.state.lock", Errored: dir + "kubewright.errored.state.json", Snapshots: dir + "kubewright.snapshots"}
	}
	return Paths{State: statePath, Journal: statePath + ".journal", Lock: statePath + ".lock", Errored: statePath + ".errored", Snapshots: statePath + ".snapshots"}
}

// DirPaths returns the default names in a configuration folder.
func DirPaths(dir string) Paths { return NewPaths(filepath.Join(dir, DefaultName)) }

// Backup returns the name of the older state with this serial.
func (p Paths) Backup(serial int64) string {
	return p.State + ".backup." + strconv.FormatInt(serial, 10)
}
