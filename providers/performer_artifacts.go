package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state/safefile"
)

// shipment is the artifacts that a batch sends. They are read from the
// operator's folder, and from nowhere else.
type shipment struct {
	root      *os.Root
	artifacts map[string]Artifact

	mu sync.Mutex
	// other is the error for an artifact that is not the planned one.
	other error
}

// artifacts opens the folder of the artifacts that the operations send. hear, unless nil,
// gets the progress of each.
func (w *work) artifacts(ops []planner.Operation, hear func(op int, line string)) (*shipment, error) {
	s := &shipment{artifacts: map[string]Artifact{}}
	for i, op := range ops {
		name, digest := artifactOf(op)
		if _, known := s.artifacts[name]; known || name == "" {
			continue
		}
		tell := func(sent, size int64) {
			if hear != nil {
				hear(i, "sent "+amount(sent, size))
			}
		}
		if err := s.add(w, op, name, digest, tell); err != nil {
			s.close()
			return nil, fmt.Errorf("cannot read artifact %s: %w", name, err)
		}
	}
	return s, nil
}

// artifactOf returns the artifact that an operation sends, and its digest.
func artifactOf(op planner.Operation) (name, digest string) {
	switch op := op.(type) {
	case planner.UploadArtifact:
		return op.Artifact, op.SHA256
	case planner.LoadImage:
		return op.Artifact, op.SHA256
	case planner.RestoreEtcd:
		return op.Artifact, op.SHA256
	}
	return "", ""
}

func (s *shipment) add(w *work, op planner.Operation, name, digest string, tell func(sent, size int64)) error {
	if s.root == nil {
		if w.Artifacts == nil {
			return errors.New("internal error: no folder of artifacts is known")
		}
		folder, err := w.Artifacts(w.own())
		if _, restores := op.(planner.RestoreEtcd); restores && w.SnapshotFolder != "" {
			folder, err = w.SnapshotFolder, nil
		}
		if err != nil {
			return err
		}
		if s.root, err = os.OpenRoot(folder); err != nil {
			return err
		}
	}
	info, err := s.root.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &safefile.NotRegular{Mode: info.Mode().Type()}
	}
	s.artifacts[name] = Artifact{Size: info.Size(), Open: func() (io.ReadCloser, error) {
		f, err := safefile.OpenBelow(s.root, name)
		if err != nil {
			return nil, fmt.Errorf("cannot read artifact %s: %w", name, err)
		}
		return &checked{
			File: f, sum: sha256.New(),
			tell: func(sent int64) { tell(sent, info.Size()) },
			end:  func(got string) error { return s.compare(name, got, digest) },
		}, nil
	}}
	return nil
}

// compare records that an artifact has changed since it was planned.
func (s *shipment) compare(name, got, want string) error {
	if got == want {
		return nil
	}
	err := fmt.Errorf("artifact %s has changed since the plan was made: its SHA-256 is %s, planned was %s. Plan again", name, got, want)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = err
	return err
}

func (s *shipment) changed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.other
}

func (s *shipment) close() {
	if s.root != nil {
		_ = s.root.Close()
	}
}

// checked computes a file's digest while it is read, reports the progress, and has the
// digest judged at the end.
type checked struct {
	*os.File
	sum  hash.Hash
	sent int64
	tell func(sent int64)
	end  func(digest string) error
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.sum.Write(p[:n])
	c.sent += int64(n)
	c.tell(c.sent)
	if errors.Is(err, io.EOF) {
		if other := c.end(hex.EncodeToString(c.sum.Sum(nil))); other != nil {
			return n, other
		}
	}
	return n, err
}
