package providers_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestCommandOutputIsReportedWithoutSecrets checks that the latest output of commands reaches the reader, without secrets,
// and that no command waits for a slow reader.
func TestCommandOutputIsReportedWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.files["/f"] = ""
	printed := make(chan struct{})
	s.printing = func(b providers.Batch) {
		for i := range 10_000 {
			b.Hear(1, fmt.Sprint("line ", i))
		}
		b.Hear(1, strings.Repeat("x", 250)+" hunter22 and more\x1b")
		close(printed)
	}
	var heard []string
	step := &planner.Step{Target: cp1, Operations: planner.Operations{
		planner.Wait{For: planner.WaitFile, Name: "/f"}, planner.EnsureDirectory{Path: "/a"}, planner.LoadImage{Image: "a"},
	}}
	began := time.Now()
	_, err := s.performer().Perform(t.Context(), step, providers.Run{}, providers.Progress{Output: func(op int, text string) {
		<-printed
		heard = append(heard, fmt.Sprint(op, ": ", text))
	}})
	if err != nil {
		t.Fatal(err)
	}
	most := 2 + int(time.Since(began)/time.Second)
	if n := len(heard); n == 0 || n > most || strings.Contains(heard[n-1], "hunter") || !strings.HasPrefix(heard[n-1], "2: xxxx") || !strings.HasSuffix(heard[n-1], " (s…") {
		t.Errorf("want at most %d lines, heard %q", most, heard)
	}
}

// TestTransfersReportProgress checks that uploads and downloads report their progress.
func TestTransfersReportProgress(t *testing.T) {
	t.Parallel()
	s := newScene()
	folder := t.TempDir()
	s.snapshots = filepath.Join(folder, "snapshots")
	content := bytes.Repeat([]byte("kubelet!"), 1<<17)
	sum := sha256.Sum256(content)
	if err := os.WriteFile(filepath.Join(folder, "kubelet"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	s.streams = append(s.streams, bytes.NewReader(database()))
	p := s.performer()
	p.Artifacts = func(state.Target) (string, error) { return folder, nil }
	last := map[int]string{}
	step := &planner.Step{Target: cp1, Operations: planner.Operations{
		planner.UploadArtifact{Artifact: "kubelet", SHA256: hex.EncodeToString(sum[:])}, planner.SnapshotEtcd{Cluster: "prod"},
	}}
	_, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{Output: func(op int, text string) { last[op] = text }})
	if err != nil || last[0] != "sent 1.0 of 1.0 MiB" || last[1] != "received 0.0 MiB" {
		t.Errorf("heard %v, %v", last, err)
	}
}
