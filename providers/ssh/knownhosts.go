package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state/safefile"
)

// knownHosts is the content of known_hosts files.
type knownHosts struct {
	*knownhosts.HostKeyDB
	// files maps the parsed copies to the original files.
	files map[string]string
}

// place returns FILE:LINE.
func (k *knownHosts) place(key xknownhosts.KnownKey) string {
	return firstOf(k.files[key.Filename], key.Filename) + ":" + strconv.Itoa(key.Line)
}

// knownHostsCache keeps parsed known_hosts files for the many hosts of a Dialer.
type knownHostsCache struct {
	mu  sync.Mutex
	dbs map[string]*knownHosts
}

// load parses those files that exist; it returns nil if there are none.
func (c *knownHostsCache) load(files []string) (*knownHosts, error) {
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
		c.dbs = map[string]*knownHosts{}
	}
	c.dbs[key] = db
	return db, nil
}

func unreadable(file string, err error) error {
	return providers.WithRemedy(fmt.Errorf("cannot read known hosts: %w", err), "make "+file+" a file that can be read, or name another one in known_hosts")
}

// parseKnownHosts skips lines that cannot be parsed, as ssh does: mostly they have keys of
// types that this package cannot verify. x/crypto opens files itself, of any kind, and
// reads them as a whole or not at all, so it gets copies.
func parseKnownHosts(files []string) (*knownHosts, error) {
	dir, err := os.MkdirTemp("", "kubewright-known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("cannot read known hosts: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	known := &knownHosts{files: map[string]string{}}
	copies, texts := make([]string, len(files)), make([]string, len(files))
	for i, file := range files {
		b, err := safefile.ReadLinked(file, maxKnownHosts)
		if err != nil {
			return nil, unreadable(file, err)
		}
		copies[i], texts[i] = filepath.Join(dir, strconv.Itoa(i)), string(b)
		known.files[copies[i]] = file
		if err := safefile.Overwrite(copies[i], b); err != nil {
			return nil, fmt.Errorf("cannot read known hosts: %w", err)
		}
	}
	if known.HostKeyDB, err = knownhosts.NewDB(copies...); err == nil {
		return known, nil
	}
	for i, file := range files {
		if err := keepParsable(copies[i], texts[i], file); err != nil {
			return nil, err
		}
	}
	if known.HostKeyDB, err = knownhosts.NewDB(copies...); err != nil {
		return nil, fmt.Errorf("cannot read known hosts: %w", err)
	}
	return known, nil
}

// maxKnownHosts bounds the size of a known_hosts file, in bytes: 30,000 hosts with three
// hashed keys each.
const maxKnownHosts = 32 << 20

// keepParsable writes a text into a copy, with empty lines in place of those that cannot be
// parsed. It fails for an unparsable line that revokes trust, or gives it to an authority.
func keepParsable(to, text, from string) error {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		err := parsable(line, to)
		if err == nil {
			continue
		}
		marker, _, _ := strings.Cut(strings.Join(strings.Fields(line), " "), " ")
		if marker == "@revoked" || marker == "@cert-authority" {
			return providers.WithRemedy(fmt.Errorf("cannot read known hosts: %s:%d, which is marked %s: %w", from, i+1, marker, err),
				fmt.Sprintf("correct or remove line %d of %s", i+1, from))
		}
		lines[i] = ""
	}
	return safefile.Overwrite(to, []byte(strings.Join(lines, "\n")))
}

// parsable parses one line, in a file as x/crypto requires.
func parsable(line, file string) error {
	if err := safefile.Overwrite(file, []byte(line)); err != nil {
		return err
	}
	if _, err := xknownhosts.New(file); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "knownhosts: "+file+":1: "))
	}
	return nil
}
