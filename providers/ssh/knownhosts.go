package ssh

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the format's
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sshconfig"
	"github.com/kubewright/kubewright/state/safefile"
)

// Markers of lines in known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
const markAuthority, markRevoked = "@cert-authority", "@revoked"

// A knownKey is a line of known_hosts.
type knownKey struct {
	file string
	line int
	// marker is empty, markAuthority or markRevoked.
	marker string
	// hosts are patterns, or a hashed name.
	hosts string
	key   ssh.PublicKey
}

// place returns FILE:LINE.
func (k knownKey) place() string { return k.file + ":" + strconv.Itoa(k.line) }

// knownHosts are the lines of known_hosts files.
type knownHosts []knownKey

// of returns the lines for a NAME:PORT; none for an empty name. They have a name on port 22
// without its port, and on another one as [NAME]:PORT.
func (k knownHosts) of(name string) []knownKey {
	if name == "" {
		return nil
	}
	name = xknownhosts.Normalize(strings.ToLower(name))
	var out []knownKey
	for _, line := range k {
		if line.is(name) {
			out = append(out, line)
		}
	}
	return out
}

func (k knownKey) is(name string) bool {
	hashed, ok := strings.CutPrefix(k.hosts, "|1|")
	if !ok {
		return sshconfig.InList(name, strings.ToLower(k.hosts))
	}
	salt, hash, _ := strings.Cut(hashed, "|")
	saltBytes, err := base64.StdEncoding.DecodeString(salt)
	if err != nil {
		return false
	}
	sum := hmac.New(sha1.New, saltBytes)
	sum.Write([]byte(name))
	return base64.StdEncoding.EncodeToString(sum.Sum(nil)) == hash
}

// knownHostsCache keeps parsed known_hosts files for the many hosts of a Dialer.
type knownHostsCache struct {
	mu  sync.Mutex
	dbs map[string]knownHosts
}

// load parses those files that exist; it returns nil if there are none.
func (c *knownHostsCache) load(files []string) (knownHosts, error) {
	var present []string
	for _, f := range files {
		switch _, err := os.Stat(f); {
		case err == nil:
			present = append(present, f)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, unreadable(f, err)
		}
	}
	if len(present) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(present, "\x00")
	if db, ok := c.dbs[key]; ok {
		return db, nil
	}
	db, err := parseKnownHosts(present)
	if err != nil {
		return nil, err
	}
	if c.dbs == nil {
		c.dbs = map[string]knownHosts{}
	}
	c.dbs[key] = db
	return db, nil
}

func unreadable(file string, err error) error {
	return providers.WithRemedy(fmt.Errorf("cannot read known hosts: %w", err), "make "+file+" a file that can be read, or name another one in known_hosts")
}

// maxKnownHosts bounds the size of a known_hosts file, in bytes: 30,000 hosts with three
// hashed keys each.
const maxKnownHosts = 32 << 20

// parseKnownHosts skips lines that cannot be parsed, as ssh does: mostly they have keys of
// types that this package cannot verify. It fails for such a line that revokes trust, or gives it
// to an authority.
func parseKnownHosts(files []string) (knownHosts, error) {
	out := knownHosts{}
	for _, file := range files {
		b, err := safefile.ReadLinked(file, maxKnownHosts)
		if err != nil {
			return nil, unreadable(file, err)
		}
		number := 0
		for text := range strings.SplitSeq(string(b), "\n") {
			number++
			line, err := parseKnownKey(text)
			if err != nil && line.marker != "" {
				return nil, providers.WithRemedy(fmt.Errorf("cannot read known hosts: %s:%d, which is marked %s: %w", file, number, line.marker, err),
					fmt.Sprintf("correct or remove line %d of %s", number, file))
			}
			if err == nil && line.key != nil {
				line.file, line.line = file, number
				out = append(out, line)
			}
		}
	}
	return out, nil
}

// parseKnownKey parses a line; one without a key is empty or a comment.
func parseKnownKey(text string) (knownKey, error) {
	var k knownKey
	words := strings.Fields(text)
	if len(words) == 0 || words[0][0] == '#' {
		return k, nil
	}
	if words[0] == markAuthority || words[0] == markRevoked {
		k.marker, words = words[0], words[1:]
	}
	if len(words) < 3 || words[0][0] == '@' {
		return k, errors.New("it has no hosts, type and key")
	}
	blob, err := base64.StdEncoding.DecodeString(words[2])
	if err != nil {
		return k, err
	}
	k.hosts = words[0]
	k.key, err = ssh.ParsePublicKey(blob)
	return k, err
}
