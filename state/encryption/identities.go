package encryption

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/state/safefile"
)

// maxIdentities bounds the size of an identity file in bytes.
const maxIdentities = 1 << 20

// readIdentities reads the private keys in files: age identities, one per line, or one SSH key
// per file. passphrase is called for a protected SSH key when data is encrypted to it; nil when
// there is no user to ask.
func readIdentities(files []string, passphrase func(file string) ([]byte, error)) ([]age.Identity, error) {
	var out []age.Identity
	for _, file := range files {
		b, err := safefile.ReadGiven(file, maxIdentities)
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		if err != nil {
			return nil, fmt.Errorf("the age identity %s cannot be read: %w", named(file), err)
		}
		ids, err := parseIdentities(file, b, passphrase)
		if err != nil {
			return nil, err
		}
		out = append(out, ids...)
	}
	return out, nil
}

// named returns a file name for an error message. A secret that was given in place of a name is
// not repeated.
func named(file string) string {
	if strings.Contains(strings.ToUpper(file), "AGE-SECRET-KEY-") {
		return "that was given (it is the secret itself, which others can see in arguments and environment, and the name of a file is wanted)"
	}
	return file
}

func parseIdentities(file string, b []byte, passphrase func(string) ([]byte, error)) ([]age.Identity, error) {
	switch {
	case bytes.Contains(b, []byte("-----BEGIN AGE ENCRYPTED FILE-----")), bytes.HasPrefix(b, []byte("age-encryption.org/")):
		return nil, fmt.Errorf("the age identity %s is itself encrypted with a passphrase, which is not supported: decrypt it for the time of the command, as in -age-identity=<(age -d %s), or use an SSH key with a passphrase", file, file)
	case bytes.Contains(b, []byte("-----BEGIN")):
		id, err := sshIdentity(file, b, passphrase)
		return []age.Identity{id}, err
	}
	ids, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil {
		// The error of age may quote the secret.
		return nil, fmt.Errorf("%s is no age identity: it holds neither lines that begin with AGE-SECRET-KEY-1, as age-keygen writes them, nor an SSH private key", file)
	}
	return ids, nil
}

func sshIdentity(file string, b []byte, passphrase func(string) ([]byte, error)) (age.Identity, error) {
	id, err := agessh.ParseIdentity(b)
	if err == nil {
		return id, nil
	}
	var missing *ssh.PassphraseMissingError
	switch {
	case !errors.As(err, &missing):
		return nil, fmt.Errorf("the SSH key %s cannot be used to decrypt: it is broken, or neither of the kind ed25519 nor rsa", file)
	case missing.PublicKey == nil:
		return nil, fmt.Errorf("the SSH key %s is protected, and of an old format that does not tell its public key: rewrite it with ssh-keygen -p -f %s", file, file)
	}
	protected, err := agessh.NewEncryptedSSHIdentity(missing.PublicKey, b, func() ([]byte, error) {
		if passphrase == nil {
			return nil, fmt.Errorf("the SSH key %s has a passphrase, for which there is no terminal to ask on", file)
		}
		return passphrase(file)
	})
	if err != nil {
		return nil, fmt.Errorf("the SSH key %s cannot be used to decrypt: it is neither of the kind ed25519 nor rsa", file)
	}
	return protected, nil
}
