package encryption_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
)

var _ state.Codec = (*encryption.Codec)(nil)

func keyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func ageKey(t *testing.T) (public, secret string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), id.String()
}

// sshKey returns an SSH key.
func sshKey(t *testing.T) (public, secret string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "ann@laptop")
	if err != nil {
		t.Fatal(err)
	}
	sshPub, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(sshPub)), string(pem.EncodeToMemory(block))
}

// protectedKey returns an SSH key with the passphrase "open sesame". It was made with one round
// of bcrypt (ssh-keygen -a 1): the usual number takes seconds under the race detector.
func protectedKey(t *testing.T) (public, secret string) {
	t.Helper()
	for name, to := range map[string]*string{"protected_ed25519.pub": &public, "protected_ed25519": &secret} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		*to = string(b)
	}
	return public, secret
}

// oldKey returns a protected SSH key in the format before OpenSSH 7.8, whose public half cannot
// be read without the passphrase.
func oldKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the old form is what is tested
	block, err := x509.EncryptPEMBlock(rand.Reader, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key), []byte("open sesame"), x509.PEMCipherAES128)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func newCodec(t *testing.T, o encryption.Options) *encryption.Codec {
	t.Helper()
	c, err := encryption.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryRecipientDecrypts checks that every recipient can decrypt, no matter the kind of its key.
func TestEveryRecipientDecrypts(t *testing.T) {
	t.Parallel()
	agePublic, ageSecret := ageKey(t)
	sshPublic, sshSecret := sshKey(t)
	protectedPublic, protectedSecret := protectedKey(t)
	to := []string{agePublic, sshPublic, protectedPublic}
	plain := []byte("{\"lineage\": \"x\"}\n")
	sealed, err := newCodec(t, encryption.Options{Recipients: to}).Seal(plain)
	if err != nil || !encryption.Sealed(sealed) || bytes.Contains(sealed, []byte("lineage")) {
		t.Fatalf("sealed as %q, %v", sealed, err)
	}
	ask := func(string) ([]byte, error) { return []byte("open sesame"), nil }
	for name, secret := range map[string]string{"age": "# created: today\n" + ageSecret + "\n", "ssh": sshSecret, "ssh with a passphrase": protectedSecret} {
		c := newCodec(t, encryption.Options{Recipients: to, Identities: []string{keyFile(t, secret)}, Passphrase: ask})
		if got, err := c.Open(sealed); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s reads %q, %v", name, got, err)
		}
	}
}

// TestDecryptionErrorsNameReason checks that every reason not to decrypt is distinguished from damage, says what to
// do, and reveals no secret.
func TestDecryptionErrorsNameReason(t *testing.T) {
	t.Parallel()
	public, secret := ageKey(t)
	_, other := ageKey(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	protectedPublic, protectedSecret := protectedKey(t)
	to := []string{public, protectedPublic}
	sealed, err := newCodec(t, encryption.Options{Recipients: to}).Seal([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(string) ([]byte, error) { return []byte("sesame"), nil }
	for name, tt := range map[string]struct {
		options encryption.Options
		want    string
	}{
		"no identity":            {encryption.Options{}, "it is encrypted, and no identity was given to decrypt it with; name the file of your private key with -age-identity=FILE"},
		"another":                {encryption.Options{Identities: []string{keyFile(t, other)}}, "it is encrypted, and not to the identity that was given; give one of the recipients' private keys with -age-identity=FILE or KUBEWRIGHT_AGE_IDENTITY; who is a recipient by now and was none when it was written has to wait for the next write"},
		"no such file":           {encryption.Options{Identities: []string{"/no/such/file"}}, "it is encrypted, and the age identity /no/such/file cannot be read: no such file"},
		"a pipe":                 {encryption.Options{Identities: []string{pipe}}, "it is encrypted, and the age identity " + pipe + " cannot be read: it is a named pipe, not a regular file"},
		"zeros":                  {encryption.Options{Identities: []string{"/dev/zero"}}, "the age identity /dev/zero cannot be read: it is a device, not a regular file"},
		"the secret as a name":   {encryption.Options{Identities: []string{secret}}, "it is the secret itself"},
		"something else":         {encryption.Options{Identities: []string{keyFile(t, "X"+secret)}}, "is no age identity"},
		"an encrypted identity":  {encryption.Options{Identities: []string{keyFile(t, string(sealed))}}, "is itself encrypted with a passphrase, which is not supported: decrypt it for the time of the command, as in -age-identity=<(age -d "},
		"a passphrase, unasked":  {encryption.Options{Identities: []string{keyFile(t, protectedSecret)}}, "has a passphrase, for which there is no terminal to ask on; name the file of a key without one, as age-keygen writes it, with -age-identity=FILE"},
		"a passphrase, mistyped": {encryption.Options{Identities: []string{keyFile(t, protectedSecret)}, Passphrase: wrong}, "it is encrypted, and the SSH key that was given cannot be used ("},
		"a broken SSH key":       {encryption.Options{Identities: []string{keyFile(t, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")}}, "cannot be used to decrypt: it is broken, or neither of the kind ed25519 nor rsa"},
		"an old SSH key":         {encryption.Options{Identities: []string{keyFile(t, oldKey(t))}}, "is protected, and of an old format that does not tell its public key: rewrite it with ssh-keygen -p -f /"},
	} {
		tt.options.Recipients = to
		_, err := newCodec(t, tt.options).Open(sealed)
		if !errors.Is(err, state.ErrSealed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "sesame")) {
			t.Errorf("%s: the error reveals a secret: %v", name, err)
		}
	}
	mine := newCodec(t, encryption.Options{Recipients: to, Identities: []string{keyFile(t, secret)}})
	for n := len("-----BEGIN AGE ENCRYPTED FILE-----"); n < len(sealed)-1; n += 31 {
		if _, err := mine.Open(sealed[:n]); err == nil || errors.Is(err, state.ErrSealed) || errors.Is(err, state.ErrPlain) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := mine.Open(sealed[:len(sealed)/3]); err == nil || !strings.Contains(err.Error(), "it cannot be decrypted: ") {
		t.Errorf("cut: %v", err)
	}
	if _, err := mine.Open([]byte("{}")); !errors.Is(err, state.ErrPlain) || !strings.Contains(err.Error(), "it is not encrypted, and the configuration says that it is; if it is yours, from before there was an encryption block, encrypt it once with") {
		t.Errorf("plain: %v", err)
	}
	if got, err := mine.Open(nil); err != nil || len(got) != 0 {
		t.Errorf("an empty file is damage, which is reported elsewhere: %q, %v", got, err)
	}
}

// TestEncryptedStateIsNotWrittenUnencrypted checks that a codec that has decrypted something does not write it
// unencrypted, unless it migrates.
func TestEncryptedStateIsNotWrittenUnencrypted(t *testing.T) {
	t.Parallel()
	public, secret := ageKey(t)
	sealed, err := newCodec(t, encryption.Options{Recipients: []string{public}}).Seal([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	for _, migrate := range []bool{false, true} {
		c := newCodec(t, encryption.Options{Identities: []string{keyFile(t, secret)}, Migrate: migrate})
		if got, err := c.Seal([]byte("before")); err != nil || string(got) != "before" {
			t.Errorf("before anything was read: %q, %v", got, err)
		}
		if _, err := c.Open(sealed); err != nil {
			t.Fatal(err)
		}
		_, err := c.Seal([]byte("after"))
		if errors.Is(err, state.ErrPlain) == migrate {
			t.Errorf("migrate %v: %v", migrate, err)
		}
		if !migrate && !strings.Contains(err.Error(), "would be written without encryption, because the configuration has no encryption block any more; put the block back, or decrypt the state for good with") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	}
	c := newCodec(t, encryption.Options{Recipients: []string{public}, Migrate: true})
	if got, err := c.Open([]byte("{}")); err != nil || string(got) != "{}" {
		t.Errorf("a plain state that is being encrypted is not read: %q, %v", got, err)
	}
}

func TestParseRecipients(t *testing.T) {
	t.Parallel()
	public, secret := ageKey(t)
	sshPublic, _ := sshKey(t)
	if got, err := encryption.ParseRecipients([]string{" " + public + " ", sshPublic}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                       `recipient "" is no public key: write age1… as age-keygen prints it, or ssh-ed25519 AAAA…`,
		"age1nobody":             "no public key of age",
		public[:len(public)-1]:   "no public key of age",
		"ssh-ed25519 AAAA":       `recipient "ssh-ed25519 AAAA" is no SSH key that can be encrypted to (`,
		"ssh-dss AAAA":           "no SSH key",
		"ann@laptop":             "no public key",
		secret:                   "a recipient is a public key, and this is a secret one. It has been written down here: make a new one with age-keygen, and write its public key (age1…)",
		strings.ToLower(secret):  "this is a secret one",
		public + "\n" + public:   "no public key of age",
		"age1yubikey1qqqqqqqqqq": "plugin",
	} {
		_, err := encryption.ParseRecipients([]string{text})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ToUpper(err.Error()), secret[20:40]) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	if _, err := encryption.ParseRecipients(nil); err == nil || err.Error() != "recipients is empty: what is written could not be read" {
		t.Errorf("without recipients: %v", err)
	}
}
