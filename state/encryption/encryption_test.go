package encryption_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// sshKey is an SSH key.
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

// protectedKey is an SSH key with the passphrase "open sesame". It was made with
// one round of bcrypt (ssh-keygen -a 1): the usual number takes seconds under the
// race detector.
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

func newCodec(t *testing.T, o encryption.Options) *encryption.Codec {
	t.Helper()
	c, err := encryption.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEachReads: whatever kind of key a recipient has, it reads what was written to all.
func TestEachReads(t *testing.T) {
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

// TestRefused: every reason not to read is told apart from damage, names what to
// do, and repeats no secret.
func TestRefused(t *testing.T) {
	t.Parallel()
	public, secret := ageKey(t)
	_, other := ageKey(t)
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
		"nobody":                 {encryption.Options{}, "no identity was given"},
		"another":                {encryption.Options{Identities: []string{keyFile(t, other)}}, "not to the identity"},
		"no such file":           {encryption.Options{Identities: []string{"/no/such/file"}}, "/no/such/file cannot be read"},
		"the secret as a name":   {encryption.Options{Identities: []string{secret}}, "it is the secret itself"},
		"something else":         {encryption.Options{Identities: []string{keyFile(t, "X"+secret)}}, "is no age identity"},
		"an encrypted identity":  {encryption.Options{Identities: []string{keyFile(t, string(sealed))}}, "itself encrypted"},
		"a passphrase, unasked":  {encryption.Options{Identities: []string{keyFile(t, protectedSecret)}}, "has a passphrase, for which nobody can be asked here; name the file of a key without one, as age-keygen writes it, with -age-identity=FILE"},
		"a passphrase, mistyped": {encryption.Options{Identities: []string{keyFile(t, protectedSecret)}, Passphrase: wrong}, "passphrase"},
		"a broken SSH key":       {encryption.Options{Identities: []string{keyFile(t, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")}}, "cannot be used to decrypt"},
	} {
		tt.options.Recipients = to
		_, err := newCodec(t, tt.options).Open(sealed)
		if !errors.Is(err, state.ErrSealed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "sesame")) {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
	mine := newCodec(t, encryption.Options{Recipients: to, Identities: []string{keyFile(t, secret)}})
	for n := len("-----BEGIN AGE ENCRYPTED FILE-----"); n < len(sealed)-1; n += 31 {
		if _, err := mine.Open(sealed[:n]); err == nil || errors.Is(err, state.ErrSealed) || errors.Is(err, state.ErrPlain) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := mine.Open([]byte("{}")); !errors.Is(err, state.ErrPlain) {
		t.Errorf("plain: %v", err)
	}
	if got, err := mine.Open(nil); err != nil || len(got) != 0 {
		t.Errorf("an empty file is damage, which is told elsewhere: %q, %v", got, err)
	}
}

// TestNeverPlainByTheWay: who has read what was encrypted does not write it plain,
// unless that is what was asked for.
func TestNeverPlainByTheWay(t *testing.T) {
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
		if _, err := c.Seal([]byte("after")); errors.Is(err, state.ErrPlain) == migrate {
			t.Errorf("migrate %v: %v", migrate, err)
		}
	}
	c := newCodec(t, encryption.Options{Recipients: []string{public}, Migrate: true})
	if got, err := c.Open([]byte("{}")); err != nil || string(got) != "{}" {
		t.Errorf("what is to be encrypted is not read: %q, %v", got, err)
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	public, secret := ageKey(t)
	sshPublic, _ := sshKey(t)
	if got, err := encryption.ParseRecipients([]string{" " + public + " ", sshPublic}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                       "no public key",
		"age1nobody":             "no public key of age",
		public[:len(public)-1]:   "no public key of age",
		"ssh-ed25519 AAAA":       "no SSH key",
		"ssh-dss AAAA":           "no SSH key",
		"ann@laptop":             "no public key",
		secret:                   "this is a secret one",
		strings.ToLower(secret):  "this is a secret one",
		public + "\n" + public:   "no public key of age",
		"age1yubikey1qqqqqqqqqq": "plugin",
	} {
		_, err := encryption.ParseRecipients([]string{text})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ToUpper(err.Error()), secret[20:40]) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	if _, err := encryption.ParseRecipients(nil); err == nil {
		t.Error("nobody is a recipient")
	}
}
