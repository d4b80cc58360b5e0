package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
)

// CacheVariable is the environment variable that overrides the lab's cache folder.
const CacheVariable = "KUBEWRIGHT_LAB_CACHE"

// A Cache holds the building blocks of labs (programs, images, root file systems) and the folders
// of the labs themselves, outside any repository.
type Cache struct {
	Dir string
	Log io.Writer // one line per artefact built; nil is silent
}

// DefaultCache returns the cache in $KUBEWRIGHT_LAB_CACHE, otherwise in kubewright-lab in the
// user's cache folder.
func DefaultCache() (*Cache, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		abs, err := filepath.Abs(dir)
		return &Cache{Dir: abs}, err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("cannot find a cache folder (set %s): %w", CacheVariable, err)
	}
	return &Cache{Dir: filepath.Join(dir, "kubewright-lab")}, nil
}

func (c *Cache) Path(elem ...string) string {
	return filepath.Join(append([]string{c.Dir}, elem...)...)
}

func (c *Cache) logf(format string, args ...any) {
	if c.Log != nil {
		fmt.Fprintf(c.Log, format+"\n", args...)
	}
}

// Timed logs the start of an operation, and its duration.
func (c *Cache) Timed(what string, do func() error) error {
	c.logf("%s …", what)
	start := time.Now()
	if err := do(); err != nil {
		return err
	}
	c.logf("%s: %s", what, time.Since(start).Round(100*time.Millisecond))
	return nil
}

// Lock excludes other builders of the same artefact. The kernel drops the lock of a process that
// ends.
func (c *Cache) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(c.Path("locks"), 0o755); err != nil {
		return nil, err
	}
	l := flock.New(c.Path("locks", strings.ReplaceAll(name, "/", "_")))
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", name, err)
	}
	return func() { l.Unlock() }, nil
}

// TryLock is Lock without waiting: ok reports whether the lock was free.
func (c *Cache) TryLock(name string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(c.Path("locks"), 0o755); err != nil {
		return nil, false, err
	}
	l := flock.New(c.Path("locks", strings.ReplaceAll(name, "/", "_")))
	if ok, err = l.TryLock(); err != nil {
		return nil, false, fmt.Errorf("cannot lock %s: %w", name, err)
	}
	return func() { l.Unlock() }, ok, nil
}

// temp creates a folder for an unfinished artefact, on the file system of the finished one. The
// next builder of the same artefact, which holds its lock, removes what killed builders left
// there.
func (c *Cache) temp(key string) (string, error) {
	dir := c.Path("tmp", strings.ReplaceAll(key, "/", "_"))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// artefact returns the path of an artefact, and builds it first if it is missing: build fills a
// folder, which is then renamed into place.
func (c *Cache) artefact(ctx context.Context, key string, build func(ctx context.Context, dir string) error) (string, error) {
	final := c.Path(key)
	unlock, err := c.Lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer unlock()
	if disk.Exists(final) {
		return final, nil
	}
	tmp, err := c.temp(key)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := c.Timed("build "+key, func() error { return build(ctx, tmp) }); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", key, err)
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return "", err
	}
	return final, os.Rename(tmp, final)
}

// fingerprint returns a short name for the exact inputs of an artefact, so that changed inputs
// produce another artefact.
func fingerprint(inputs ...string) string {
	h := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(h, "%d:%s", len(in), in)
	}
	return hex.EncodeToString(h.Sum(nil))[:10]
}
