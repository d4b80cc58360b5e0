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

// SnapshotSealing encrypts snapshots of etcd as the state is encrypted, or else to recipients that come
// with them.
type SnapshotSealing struct{ *Workspace }

// Seals reports whether a snapshot is encrypted.
func (a SnapshotSealing) Seals(recipients []string) bool { return a.block(recipients) != nil }

// Encrypt encrypts what is written.
func (a SnapshotSealing) Encrypt(to io.Writer, recipients []string) (io.WriteCloser, error) {
	return a.NewCodec(a.block(recipients), false).Writer(to)
}

// Decrypt decrypts a snapshot with the keys that also decrypt the state.
func (a SnapshotSealing) Decrypt(from io.Reader) (io.Reader, error) { return a.DecryptStream(from) }

// block returns the recipients: those of the state come first.
func (a SnapshotSealing) block(recipients []string) *config.Encryption {
	switch settings := a.Settings(); {
	case a.Simulated:
		return nil
	case settings.Encryption != nil && !settings.Wrong.HasErrors():
		return settings.Encryption
	case len(recipients) > 0:
		return &config.Encryption{Recipients: recipients}
	}
	return nil
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
