package workspace

import (
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/kubewright/kubewright/state/statefile"
)

// Workspace is the folder that a command works in: its configuration, and the place of its
// state.
type Workspace struct {
	*console.Console
	// Chdir and StatePath are global options.
	Chdir     string
	StatePath string
	// Simulated makes every host a simulated one, whatever its connection says, and keeps the state
	// in StatePath, not encrypted and in no backend.
	Simulated bool
	// BackendConfig are the backend settings of -backend-config.
	BackendConfig []string
	// Place is where the state is kept, once determined.
	Place *Place
	// Identities are the files with private keys of -age-identity; Sealer encrypts and
	// decrypts, once needed.
	Identities []string
	Sealer     *encryption.Codec
	opener     *encryption.Codec // decrypts files of the configuration, once needed
	// read is the kubewright block, once needed.
	read *hclconfig.Settings
}

// SourceText reads a file of the configuration for excerpts, which do not show the secrets in
// it.
func (a *Workspace) SourceText(name string) []byte {
	if !filepath.IsLocal(name) {
		return nil
	}
	b, err := safefile.ReadBelow(a.Folder(), name, hclconfig.MaxFile)
	if err != nil {
		return nil
	}
	return hclconfig.Cover(hclconfig.Options{Dir: a.Folder()}, name, b)
}

// Program returns the beginning of a command line for the same folder, to be copied.
func (a *Workspace) Program() string {
	if a.Chdir == "" {
		return "kubewright"
	}
	return "kubewright -chdir=" + state.ShellWord(a.Chdir)
}

// Folder returns the configuration folder: the working folder, or -chdir.
func (a *Workspace) Folder() string {
	if a.Chdir == "" {
		return a.Dir
	}
	if filepath.IsAbs(a.Chdir) {
		return a.Chdir
	}
	return filepath.Join(a.Dir, a.Chdir)
}

const SimFile = "kubewright.sim.json"

// Paths returns where the state, its lock and its journal are in this folder.
func (a *Workspace) Paths() statefile.Paths {
	p := statefile.DirPaths(a.Folder())
	if a.StatePath != "" {
		p = statefile.NewPaths(a.Named(a.StatePath))
	}
	p.FS, p.Codec = a.Files, a.Codec()
	return p
}
