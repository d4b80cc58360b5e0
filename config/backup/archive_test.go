package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"
)

// archiveOf returns a backup with the files, whose manifest is changed before it is written.
func archiveOf(t *testing.T, files map[string]string, change func(*Manifest)) []byte {
	t.Helper()
	m := Manifest{Format: Format, Cluster: "prod", Time: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Files: map[string]string{}}
	for f, content := range files {
		m.Files[f] = digest([]byte(content))
	}
	change(&m)
	manifest, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(name, content string) {
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg})); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	add(ManifestFile, string(manifest))
	for _, f := range slices.Sorted(maps.Keys(files)) {
		if f == SnapshotFile {
			add(f, files[f])
		} else {
			add(FilesFolder+f, files[f])
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestDamagedBackupsAreRefused checks that a backup that was cut off or changed is refused with what is
// wrong with it.
func TestDamagedBackupsAreRefused(t *testing.T) {
	t.Parallel()
	files := map[string]string{SnapshotFile: snapshotOf("content"), "etc/kubernetes/pki/ca.crt": "ca"}
	whole := archiveOf(t, files, func(*Manifest) {})
	without := maps.Clone(files)
	delete(without, "etc/kubernetes/pki/ca.crt")
	sum := digest([]byte("ca"))
	for want, b := range map[string][]byte{
		"": whole,
		"it is damaged: its snapshot ends early: unexpected EOF": whole[:bytes.Index(whole, []byte("content"))+100],
		"it is damaged, or no backup: unexpected EOF":            whole[:100],
		"its manifest is incomplete":                             nil,
		"it is damaged: the digest of etc/kubernetes/pki/ca.crt is " + sum + " and should be " + digest([]byte("cb")):                                      archiveOf(t, files, func(m *Manifest) { m.Files["etc/kubernetes/pki/ca.crt"] = digest([]byte("cb")) }),
		"it is damaged: etc/kubernetes/pki/ca.crt is missing":                                                                                              archiveOf(t, without, func(m *Manifest) { m.Files["etc/kubernetes/pki/ca.crt"] = sum }),
		"it has format 9, and this version of kubewright reads up to 1. Use a newer version":                                                               archiveOf(t, files, func(m *Manifest) { m.Format = 9 }),
		`its manifest has an invalid file "../x"`:                                                                                                          archiveOf(t, files, func(m *Manifest) { m.Files["../x"] = sum }),
		"it is damaged: the digest of snapshot.db is " + digest([]byte(snapshotOf("content"))) + " and should be " + digest([]byte(snapshotOf("another"))): archiveOf(t, files, func(m *Manifest) { m.Files[SnapshotFile] = digest([]byte(snapshotOf("another"))) }),
	} {
		got := ""
		if _, err := Read(bytes.NewReader(b), io.Discard); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	full := fmt.Errorf("no space left on device")
	if _, err := Read(bytes.NewReader(whole), brokenDisk{full}); !errors.Is(err, full) || err.Error() != "its snapshot cannot be written: no space left on device" {
		t.Error(err)
	}
}

// brokenDisk takes nothing.
type brokenDisk struct{ err error }

func (b brokenDisk) Write([]byte) (int, error) { return 0, b.err }
