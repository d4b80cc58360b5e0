// Package bundle makes a folder of artifacts, as package config/artifacts reads it, from
// the projects' own download sites or from mirrors: on a machine that reaches these, for
// hosts that do not.
//
// It compares released files with the SHA-256 that the project publishes next to them; the
// registry client verifies images by digest. Every file is written under a temporary name,
// renamed when it is complete and verified, and then recorded in SHA256SUMS. So the next
// run continues an interrupted bundle, and does not fetch files with the right sum again.
//
// A sum from the same place as its file proves only that the file is complete. That it is
// the project's follows from HTTPS, or from a signature that the operator compares.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/artifacts"
	"github.com/kubewright/kubewright/state/safefile"
)

// Releases are the versions of the companion projects of Kubernetes, without v; an empty
// one is skipped.
type Releases struct {
	Containerd, Runc, CNIPlugins, Crictl string
}

// DefaultReleases returns versions that fit the supported Kubernetes versions; each can be
// overridden.
func DefaultReleases() Releases {
	return Releases{Containerd: "2.4.2", Runc: "1.5.2", CNIPlugins: "1.9.1", Crictl: "1.36.0"}
}

// Wish is the desired content of the folder.
type Wish struct {
	// Kubernetes is the version of kubelet, kubeadm and kubectl, without v; empty skips
	// them.
	Kubernetes string
	Releases
	// Architectures are amd64, arm64, ppc64le, s390x.
	Architectures []string
	Images        []Image
}

// Image is one image: Name is its name on the hosts, From the name from which it is pulled.
type Image struct{ Name, From string }

// Sources are the download sites.
type Sources struct {
	// Kubernetes has release/vVERSION/bin/linux/ARCH/kubelet.
	Kubernetes string
	// GitHub has OWNER/REPOSITORY/releases/download/TAG/FILE.
	GitHub string
	Client *http.Client
}

// DefaultSources returns the projects' own sites.
func DefaultSources() Sources {
	return Sources{Kubernetes: "https://dl.k8s.io", GitHub: "https://github.com", Client: &http.Client{CheckRedirect: checkRedirect}}
}

// redirectsMost is the maximum length of a chain of redirects.
const redirectsMost = 5

// checkRedirect follows a publisher, or a mirror, on its own host, and over HTTPS to its
// storage; never from HTTPS to HTTP, and never to a service of the operator's own machine
// or cloud.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from, why := via[len(via)-1].URL, config.Unfetchable(to.URL.Hostname())
	same := to.URL.Host == from.Host
	switch {
	case len(via) > redirectsMost:
		return fmt.Errorf("it redirects more than %d times", redirectsMost)
	case to.URL.User != nil:
		return fmt.Errorf("it redirects to %s with a user in the address", to.URL.Host)
	case to.URL.Scheme != "https" && (!same || to.URL.Scheme != from.Scheme):
		return fmt.Errorf("it redirects to %s://%s, which is not HTTPS", to.URL.Scheme, to.URL.Host)
	case why != "" && !same:
		return fmt.Errorf("it redirects to %s, which %s", to.URL.Host, why)
	}
	return nil
}

// Results for a file.
const (
	Fetched  = "fetched"
	Present  = "present"
	Replaced = "replaced" // it replaces another release
	Removed  = "removed"  // another release of a desired file
)

// Make creates or completes the folder. It calls done for every file.
func Make(ctx context.Context, dir string, w Wish, s Sources, done func(file, what string)) error {
	if err := safefile.MakeFolder(dir, 0o755); err != nil {
		return err
	}
	b := &bundle{dir: dir, sources: s, done: done}
	if err := b.readSums(); err != nil {
		return err
	}
	for _, r := range w.releases() {
		if err := b.release(ctx, r); err != nil {
			return fmt.Errorf("cannot bundle %s: %w", r.file, err)
		}
		if err := b.removeOthers(r); err != nil {
			return err
		}
	}
	for _, arch := range w.Architectures {
		for _, i := range w.Images {
			if err := b.image(ctx, i, arch); err != nil {
				return fmt.Errorf("cannot bundle image %s for %s: %w", i.Name, arch, err)
			}
		}
	}
	return nil
}

// bundle is a folder that is being filled.
type bundle struct {
	dir     string
	sources Sources
	sums    map[string]string
	done    func(file, what string)
}

func (b *bundle) path(file string) string { return filepath.Join(b.dir, filepath.FromSlash(file)) }

func (b *bundle) readSums() error {
	content, err := safefile.Read(b.path(artifacts.SumsFile), artifacts.MaxSums)
	if errors.Is(err, fs.ErrNotExist) {
		b.sums = map[string]string{}
		return nil
	}
	if err == nil {
		b.sums, err = artifacts.ParseSums(content)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", b.path(artifacts.SumsFile), err)
	}
	return nil
}

// place renames a fetched file, and then records it in SHA256SUMS: without that line the
// folder is refused, and the file is checked again.
func (b *bundle) place(part, file, sum, what string) error {
	if part != "" {
		if err := safefile.Rename(part, b.path(file)); err != nil {
			return err
		}
	}
	b.sums[file] = sum
	if err := b.writeSums(); err != nil {
		return err
	}
	b.done(file, what)
	return nil
}

func (b *bundle) writeSums() error {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", b.sums[name], name)
	}
	return safefile.WriteFile(b.path(artifacts.SumsFile), []byte(lines.String()), 0o644)
}

// removeOthers removes other versions of a file whose name contains its version, if their
// content matches SHA256SUMS: with two versions the folder would be ambiguous.
func (b *bundle) removeOthers(r release) error {
	for _, name := range slices.Sorted(maps.Keys(b.sums)) {
		if ok, _ := path.Match(r.like, name); !ok || name == r.file {
			continue
		}
		if have, err := sumOf(b.path(name)); err != nil || have != b.sums[name] {
			continue
		}
		if err := os.Remove(b.path(name)); err != nil {
			return err
		}
		delete(b.sums, name)
		if err := b.writeSums(); err != nil {
			return err
		}
		b.done(name, Removed)
	}
	return nil
}

// begin creates the temporary file for a download, and replaces one that an earlier run has
// left. Folders between the bundle's and the file's must not be links, so that downloads
// stay in the bundle.
func (b *bundle) begin(file string) (*os.File, error) {
	folder := b.dir
	for _, name := range strings.Split(path.Dir(file), "/") {
		folder = filepath.Join(folder, name)
		if err := safefile.MakeFolder(folder, 0o755); err != nil {
			return nil, err
		}
	}
	part := b.path(file) + partSuffix
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return safefile.Create(part, 0o644)
}

// partSuffix is the suffix of files while they are written.
const partSuffix = ".part"
