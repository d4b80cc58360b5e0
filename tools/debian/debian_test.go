package debian_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blakesmith/ar"

	"github.com/kubewright/kubewright/tools/debian"
)

// deb makes a package file of these files.
func deb(t *testing.T, files ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ar.NewWriter(&out)
	if err := w.WriteGlobalHeader(); err != nil {
		t.Fatal(err)
	}
	member := func(name string, content []byte) {
		if err := w.WriteHeader(&ar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	member("debian-binary", []byte("2.0\n"))
	member("control.tar.gz", archive(t, tar.Header{Name: "./control", Typeflag: tar.TypeReg}))
	member("data.tar.gz", archive(t, files...))
	return out.Bytes()
}

// archive makes a compressed tar in which each regular file has its name as content.
func archive(t *testing.T, files ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range files {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(h.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func regular(name string, mode int64) tar.Header {
	return tar.Header{Name: name, Mode: mode, Typeflag: tar.TypeReg}
}

// TestUnpack checks what becomes of the files of packages.
func TestUnpack(t *testing.T) {
	t.Parallel()
	tree := &debian.Tree{Without: debian.Documentation}
	err := tree.Unpack("shell", deb(t,
		tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		tar.Header{Name: "./bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		regular("./bin/sh", 0o4755), // setuid is dropped
		tar.Header{Name: "./usr/bin/dash", Typeflag: tar.TypeLink, Linkname: "./bin/sh", Mode: 0o755},
		regular("./usr/share/man/man1/sh.1.gz", 0o644), regular("./usr/share/doc/shell/copyright", 0o644), regular("./usr/share/doc/shell/NEWS", 0o644),
	))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"bin", "usr/bin/dash", "usr/bin/sh", "usr/share/doc/shell/copyright", "var/lib/dpkg/status.d/shell"}
	if got := tree.Paths(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	sh, _ := tree.Get("usr/bin/sh")
	dash, _ := tree.Get("usr/bin/dash")
	if sh.Mode != 0o755 || string(dash.Content) != "./bin/sh" {
		t.Errorf("got %+v, %+v", sh, dash)
	}
	if err := tree.Unpack("other", deb(t, regular("./usr/bin/sh", 0o755))); err == nil || !strings.Contains(err.Error(), "two packages have usr/bin/sh") {
		t.Errorf("a second package with a file: %v", err)
	}
	if err := tree.Unpack("text", []byte("not an archive")); err == nil || !strings.Contains(err.Error(), "is no package of Debian") {
		t.Errorf("a file that is no package: %v", err)
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := tree.Tar(b, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two tars of a tree differ")
	}
}

// TestMissingLibraries checks that a program without its library is found, on a program that this
// machine has.
func TestMissingLibraries(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("/bin/ls")
	if err != nil {
		t.Skip(err)
	}
	var tree debian.Tree
	tree.Add(debian.File{Path: "bin/ls", Content: program})
	missing := tree.MissingLibraries()
	if len(missing) == 0 {
		t.Skip("ls is linked statically")
	}
	for _, m := range missing {
		tree.Add(debian.File{Path: "lib/" + strings.SplitN(m, ",", 2)[0]})
	}
	if left := tree.MissingLibraries(); len(left) > 0 {
		t.Errorf("still missing: %q", left)
	}
}

// TestFetch checks that only the locked bytes are accepted, and what happens when Debian has
// updated a package.
func TestFetch(t *testing.T) {
	t.Parallel()
	served := map[string]string{"/pool/a_1_amd64.deb": "right", "/pool/b_1_amd64.deb": "wrong", "/pool/d_1_amd64.deb": strings.Repeat("x", 100)}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if content, there := served[r.URL.Path]; there {
			io.WriteString(w, content)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	source := debian.Source{Mirror: server.URL, Folder: t.TempDir(), Client: server.Client()}
	sum := sha256.Sum256([]byte("right"))
	locked := func(name string) debian.Package {
		return debian.Package{Arch: "amd64", SHA256: hex.EncodeToString(sum[:]), Size: 5, Path: "pool/" + name + "_1_amd64.deb"}
	}
	for range 2 {
		if b, err := source.Fetch(t.Context(), locked("a")); err != nil || string(b) != "right" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	if requests != 1 {
		t.Errorf("%d requests: the file was not kept", requests)
	}
	source.Folder = t.TempDir()
	for name, want := range map[string]string{"b": "instead of", "c": "no longer has pool/c_1_amd64.deb. Update the lock with make image-lock", "d": "instead of"} {
		if _, err := source.Fetch(t.Context(), locked(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestLock checks the lock's form.
func TestLock(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a", 64)
	all, err := debian.ParseLock(strings.NewReader("# a comment\n\namd64 " + digest + " 7 pool/a_1_amd64.deb\narm64 " + digest + " 8 pool/a_1_arm64.deb\n"))
	if err != nil || len(all) != 2 || all[0].Name() != "a" {
		t.Fatalf("got %+v, %v", all, err)
	}
	if of, err := debian.Of(all, "arm64", "a"); err != nil || len(of) != 1 || of[0].Size != 8 {
		t.Errorf("got %+v, %v", of, err)
	}
	if _, err := debian.Of(all, "riscv64"); err == nil {
		t.Error("an architecture without packages is accepted")
	}
	if _, err := debian.Of(all, "amd64", "a", "b"); err == nil {
		t.Error("a missing package is accepted")
	}
	for _, bad := range []string{"amd64 x 7 p", "amd64 " + digest + " 7", "amd64 " + digest + " seven p"} {
		if _, err := debian.ParseLock(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
