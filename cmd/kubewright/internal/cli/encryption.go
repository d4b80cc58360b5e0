package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
)

// identityVariable names files with private keys in the environment, as -age-identity does.
const identityVariable = "KUBEWRIGHT_AGE_IDENTITY"

// settings returns the kubewright block, read once: it says where the state is and to whom it
// is encrypted, for commands that load nothing else of the configuration.
func (a *app) settings() *hclconfig.Settings {
	if a.read == nil {
		a.read = hclconfig.ReadSettings(hclconfig.Options{Dir: a.folder()})
	}
	a.sources = a.sourceText
	return a.read
}

// codec returns how state, journal and saved plans are read and written here: encrypted
// as the encryption block of the configuration says. What is wrong with the
// configuration is no reason not to read; whoever writes has loaded it before.
func (a *app) codec() state.Codec {
	if a.sealer == nil {
		settings := a.settings()
		block := settings.Encryption
		if settings.Wrong.HasErrors() {
			block = nil
		}
		a.sealer = a.newCodec(block, false)
	}
	return a.sealer
}

// newCodec makes a codec; the block may be nil.
func (a *app) newCodec(block *config.Encryption, migrate bool) *encryption.Codec {
	o := encryption.Options{Identities: a.identityFiles(), Migrate: migrate}
	if block != nil {
		o.Recipients = block.Recipients
	}
	if a.ask != nil {
		o.Passphrase = func(file string) ([]byte, error) {
			secret, err := a.ask("Passphrase of " + ui.Clean(file) + ": ")
			if err != nil {
				return nil, noAnswer(err)
			}
			return secret, nil
		}
	}
	c, err := encryption.New(o)
	if err != nil {
		// Recipients are checked where the block is read.
		panic("internal error: " + err.Error())
	}
	return c
}

// identityFiles returns the files with private keys: of the command line, then of the
// environment.
func (a *app) identityFiles() []string {
	var out []string
	fromEnv := filepath.SplitList(a.Getenv(identityVariable))
	for i, file := range slices.Concat(a.identities, fromEnv) {
		if file == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(file, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				file = filepath.Join(home, rest)
			}
		}
		if i >= len(a.identities) {
			out = append(out, a.fromHere(file))
			continue
		}
		out = append(out, a.named(file))
	}
	return out
}
