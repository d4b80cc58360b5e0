package encryption

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/kubewright/kubewright/state"
)

// Options configure a Codec.
type Options struct {
	// Recipients are the public keys that everything is encrypted to; without recipients nothing
	// is encrypted.
	Recipients []string
	// Identities are the files with the private keys of the user. They are read when something
	// has to be decrypted.
	Identities []string
	// Passphrase asks for the passphrase of a protected SSH key; nil when there is no user to
	// ask.
	Passphrase func(file string) ([]byte, error)
	// Migrate accepts plain bytes where encrypted ones are expected, and writes plain bytes where
	// they were encrypted: for the one command that converts one into the other.
	Migrate bool
}

// Codec is a state.Codec that encrypts. It may be used by several goroutines.
type Codec struct {
	options    Options
	recipients []age.Recipient

	mu         sync.Mutex
	identities []age.Identity
	// failed is why the identities could not be read, after the first attempt.
	failed error
	// sealed reports whether something was decrypted: it is not written unencrypted afterwards.
	sealed bool
}

// New fails when a recipient is not a public key.
func New(o Options) (*Codec, error) {
	c := &Codec{options: o}
	if len(o.Recipients) == 0 {
		return c, nil
	}
	var err error
	c.recipients, err = ParseRecipients(o.Recipients)
	return c, err
}

// Encrypts reports whether the codec encrypts what it writes.
func (c *Codec) Encrypts() bool { return len(c.recipients) > 0 }

// header is the beginning of an encrypted file.
const header = "-----BEGIN AGE ENCRYPTED FILE-----"

// Sealed reports whether bytes are encrypted.
func Sealed(b []byte) bool { return bytes.HasPrefix(b, []byte(header)) }

// Seal implements state.Codec.
func (c *Codec) Seal(plain []byte) ([]byte, error) {
	if !c.Encrypts() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sealed && !c.options.Migrate {
			return nil, &state.CodecError{
				Kind: state.ErrPlain, Problem: "it is encrypted, and would be written without encryption, because the configuration has no encryption block any more",
				Remedy: "put the block back, or decrypt the state for good with\n\n  kubewright state decrypt",
			}
		}
		return plain, nil
	}
	var b bytes.Buffer
	a := armor.NewWriter(&b)
	w, err := age.Encrypt(a, c.recipients...)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("cannot encrypt: %w", err)
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		return nil, fmt.Errorf("cannot encrypt: %w", err)
	}
	return b.Bytes(), nil
}

// Open implements state.Codec.
func (c *Codec) Open(kept []byte) ([]byte, error) {
	if !Sealed(kept) {
		if c.Encrypts() && !c.options.Migrate && len(bytes.TrimSpace(kept)) > 0 {
			return nil, &state.CodecError{
				Kind: state.ErrPlain, Problem: "it is not encrypted, and the configuration says that it is",
				Remedy: "if it is yours, from before there was an encryption block, encrypt it once with\n\n  kubewright state encrypt",
			}
		}
		return kept, nil
	}
	identities, err := c.known()
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(kept)), identities...)
	if err != nil {
		return nil, c.refused(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
	return plain, nil
}

// Writer encrypts a file as it is written, in binary form, and ends it when it is closed.
func (c *Codec) Writer(to io.Writer) (io.WriteCloser, error) { return age.Encrypt(to, c.recipients...) }

// Decrypt decrypts a file of the user that was encrypted with age, as text or in binary form.
func (c *Codec) Decrypt(b []byte) ([]byte, error) {
	r, err := c.Reader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Reader decrypts a file of the user as it is read.
func (c *Codec) Reader(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(file)
	begin, _ := buffered.Peek(len(header))
	from := io.Reader(buffered)
	switch {
	case Sealed(begin):
		from = armor.NewReader(from)
	case !bytes.HasPrefix(begin, []byte("age-encryption.org/")):
		return nil, errors.New("it is not encrypted with age; encrypt it, as in age -e -a -r RECIPIENT, so that no secret is beside the configuration")
	}
	identities, err := c.known()
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(from, identities...)
	if err != nil {
		return nil, c.refused(err)
	}
	return r, nil
}

// known returns the identities; they are read once.
func (c *Codec) known() ([]age.Identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identities != nil || c.failed != nil {
		return c.identities, c.failed
	}
	if len(c.options.Identities) == 0 {
		c.failed = &state.CodecError{
			Kind: state.ErrSealed, Problem: "it is encrypted, and no identity was given to decrypt it with",
			Remedy: "name the file of your private key with -age-identity=FILE, or in the environment:\n\n  export KUBEWRIGHT_AGE_IDENTITY=~/.config/kubewright/identity.txt",
		}
		return nil, c.failed
	}
	c.identities, c.failed = readIdentities(c.options.Identities, c.options.Passphrase)
	if c.failed != nil {
		c.failed = &state.CodecError{
			Kind: state.ErrSealed, Problem: "it is encrypted, and " + c.failed.Error(),
			Remedy: "give a private key that can be read and used, with -age-identity=FILE or in KUBEWRIGHT_AGE_IDENTITY",
		}
	}
	return c.identities, c.failed
}

// refused distinguishes a key that does not match from broken bytes.
func (c *Codec) refused(err error) error {
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return &state.CodecError{
			Kind: state.ErrSealed, Problem: "it is encrypted, and not to the identity that was given",
			Remedy: "give one of the recipients' private keys with -age-identity=FILE or KUBEWRIGHT_AGE_IDENTITY; who is a recipient by now and was none when it was written has to wait for the next write",
		}
	}
	// agessh wraps these so that only their text is left.
	text := err.Error()
	if why, ok := strings.CutPrefix(text, "failed to obtain passphrase: "); ok && c.options.Passphrase == nil {
		return &state.CodecError{
			Kind: state.ErrSealed, Problem: "it is encrypted, and " + why,
			Remedy: "name the file of a key without one, as age-keygen writes it, with -age-identity=FILE or in KUBEWRIGHT_AGE_IDENTITY (its public key has to be one of the recipients), or run the command on a terminal and without -input=false",
		}
	}
	if strings.HasPrefix(text, "failed to obtain passphrase") || strings.HasPrefix(text, "failed to decrypt SSH key file") {
		return &state.CodecError{Kind: state.ErrSealed, Problem: "it is encrypted, and the SSH key that was given cannot be used (" + text + ")", Remedy: "run the command again and give the key's passphrase"}
	}
	return fmt.Errorf("it cannot be decrypted: %w", err)
}
