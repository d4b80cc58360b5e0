package image

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/tools/debian"
)

// lockFile has the packages of the image for CI, which make image-lock writes.
//
//go:embed debian.lock
var lockFile []byte

// certificates is the package with the CA certificates, also of the image from scratch.
const certificates = "ca-certificates"

// bundle is where programs expect the CA certificates.
const bundle = "etc/ssl/certs/ca-certificates.crt"

// user is the ID of the user and the group as which the image from scratch runs.
const user = 65532

// unneeded are packages that Debian installs with those of the image and that nothing in it uses:
// they serve installation and login, or are git's commands written in Perl.
var unneeded = []string{
	"adduser", "debconf", "gcc-14-base", "git-man", "init-system-helpers", "libaudit-common", "libaudit1",
	"libcap-ng0", "liberror-perl", "libgdbm-compat4t64", "libgdbm6t64",
	"libpam-modules", "libpam-modules-bin", "libpam0g", "libperl5.40", "libsemanage-common", "libsemanage2",
	"libsepol2", "login.defs", "openssl-provider-legacy", "passwd", "perl", "perl-base", "perl-modules-5.40",
}

// scratchTree returns what the program needs of a file system: CA certificates, and folders to
// work in.
func scratchTree(ctx context.Context, source debian.Source, arch string) (*debian.Tree, error) {
	from, err := unpacked(ctx, source, arch, []string{certificates})
	if err != nil {
		return nil, err
	}
	all, _ := from.Get(bundle)
	var t debian.Tree
	t.Add(all)
	t.Add(debian.File{Path: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/root:/sbin/nologin\nkubewright:x:65532:65532:kubewright:/home/kubewright:/sbin/nologin\n")})
	t.Add(debian.File{Path: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nkubewright:x:65532:\n")})
	t.Add(debian.File{Path: "tmp", Mode: 0o1777, Dir: true})
	for _, dir := range []string{"work", "home/kubewright"} {
		t.Add(debian.File{Path: dir, Mode: 0o755, Owner: user, Dir: true})
	}
	return &t, nil
}

// ciTree returns what jobs of CI need: a shell with the usual programs, git, an SSH client, jq, curl
// and CA certificates.
func ciTree(ctx context.Context, source debian.Source, arch string) (*debian.Tree, error) {
	t, err := unpacked(ctx, source, arch, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"passwd", "group"} {
		master, there := t.Get("usr/share/base-passwd/" + name + ".master")
		if !there {
			return nil, fmt.Errorf("base-passwd has no master of /etc/%s", name)
		}
		t.Add(debian.File{Path: "etc/" + name, Mode: 0o644, Content: master.Content})
	}
	t.Add(debian.File{Path: "usr/bin/awk", Link: "mawk"}) // as update-alternatives links it
	for dir, mode := range map[string]int64{"tmp": 0o1777, "var/tmp": 0o1777, "root": 0o700, "work": 0o755} {
		t.Add(debian.File{Path: dir, Mode: mode, Dir: true})
	}
	if missing := t.MissingLibraries(); len(missing) > 0 {
		return nil, fmt.Errorf("the image for CI lacks %s", strings.Join(missing, "; "))
	}
	return t, nil
}

// unpacked returns the files of locked packages, with the CA certificates in one bundle.
func unpacked(ctx context.Context, source debian.Source, arch string, names []string) (*debian.Tree, error) {
	all, err := debian.ParseLock(bytes.NewReader(lockFile))
	if err != nil {
		return nil, fmt.Errorf("debian.lock: %w", err)
	}
	packages, err := debian.Of(all, arch, names...)
	if err != nil {
		return nil, err
	}
	t := &debian.Tree{Without: debian.Documentation}
	for _, p := range packages {
		if slices.Contains(unneeded, p.Name()) {
			continue
		}
		deb, err := source.Fetch(ctx, p)
		if err != nil {
			return nil, err
		}
		if err := t.Unpack(p.Name(), deb); err != nil {
			return nil, err
		}
	}
	return t, addBundle(t)
}

// addBundle writes the CA certificates into one file, as update-ca-certificates does.
func addBundle(t *debian.Tree) error {
	var all []byte
	for _, p := range t.Paths() {
		if strings.HasPrefix(p, "usr/share/ca-certificates/") && path.Ext(p) == ".crt" {
			f, _ := t.Get(p)
			all = append(append(all, bytes.TrimSpace(f.Content)...), '\n')
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("the package %s has no certificates", certificates)
	}
	t.Add(debian.File{Path: bundle, Mode: 0o644, Content: all})
	return nil
}
