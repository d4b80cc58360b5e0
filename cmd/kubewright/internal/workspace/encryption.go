package workspace

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
)

// IdentityVariable is the environment variable that names files with private keys, as
// -age-identity does.
const IdentityVariable = "KUBEWRIGHT_AGE_IDENTITY"

// Settings returns the kubewright block, read once: where the state is and to whom it is
// encrypted, for commands that load no other part of the configuration.
func (a *Workspace) Settings() *hclconfig.Settings {
	if a.read == nil {
		a.read = hclconfig.ReadSettings(hclconfig.Options{Dir: a.Folder()})
	}
	a.Sources = a.SourceText
	return a.read
}

// Codec returns how state, journal and saved plans are read and written here: encrypted as the
// encryption block of the configuration says. A wrong configuration does not prevent reading; a
// command that writes has loaded the configuration before.
func (a *Workspace) Codec() state.Codec {
	if a.Sealer == nil {
		settings := a.Settings()
		block := settings.Encryption
		if settings.Wrong.HasErrors() || a.Simulated {
			block = nil
		}
		a.Sealer = a.NewCodec(block, false)
	}
	return a.Sealer
}

// DecryptStream decrypts a file as it is read, with the same keys as DecryptFile.
func (a *Workspace) DecryptStream(file io.Reader) (io.Reader, error) {
	return a.NewCodec(nil, false).Reader(file)
}

// DecryptFile decrypts a file of the configuration, in memory, with the private keys that also decrypt
// the state.
func (a *Workspace) DecryptFile(b []byte) ([]byte, error) {
	if a.opener == nil {
		a.opener = a.NewCodec(nil, false)
	}
	return a.opener.Decrypt(b)
}

// NewCodec makes a codec; block may be nil.
func (a *Workspace) NewCodec(block *config.Encryption, migrate bool) *encryption.Codec {
	o := encryption.Options{Identities: a.identityFiles(), Migrate: migrate}
	if block != nil {
		o.Recipients = block.Recipients
	}
	if a.Ask != nil {
		o.Passphrase = func(file string) ([]byte, error) {
			secret, err := a.Ask("Passphrase of " + ui.Clean(file) + ": ")
			if err != nil {
				return nil, console.NoAnswer(err)
			}
			return secret, nil
		}
	}
	c, err := encryption.New(o)
	if err != nil {
		// Recipients are checked when the block is read.
		panic("internal error: " + err.Error())
	}
	return c
}

// identityFiles returns the files with private keys: first those of the command line, then
// those of the environment.
func (a *Workspace) identityFiles() []string {
	var out []string
	fromEnv := filepath.SplitList(a.Getenv(IdentityVariable))
	for i, file := range slices.Concat(a.Identities, fromEnv) {
		if file == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				file = filepath.Join(home, rest)
			}
		}
		if i >= len(a.Identities) {
			out = append(out, a.FromHere(file))
			continue
		}
		out = append(out, a.Named(file))
	}
	return out
}
