package statefile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProbeForSpaceKeepsFile checks that probing for space leaves the file unchanged.
func TestProbeForSpaceKeepsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, []byte("line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := probe(f, 200_000); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := probe(f, 200_000); err == nil {
		t.Error("probing a closed file succeeds")
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, []byte("line\n")) {
		t.Errorf("the file holds %d bytes, %v", len(b), err)
	}
}

func TestNewerStateNamesRemedy(t *testing.T) {
	t.Parallel()
	m := newMemFS()
	m.put(memPath, []byte(`{"format_version":2,"tool_version":"9.9.9"}`))
	if _, err := Read(on(m)); err == nil || !strings.HasSuffix(err.Error(), "; use that version of kubewright or a later one") {
		t.Errorf("error = %v", err)
	}
	if _, err := Load(on(m)); err == nil {
		t.Error("a newer state is loaded")
	}
}
