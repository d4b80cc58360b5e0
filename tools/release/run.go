package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// run makes a release. Its fields build and sign are what it calls for the actual work.
type run struct {
	repo, dist string
	snapshot   bool
	// only is the one platform that is built, such as linux/amd64; empty for all.
	only string
	log  func(format string, args ...any)
	// build builds the source below a folder, and returns the folder with what is released.
	build func(ctx context.Context, s source, folder string) (string, error)
	// sign signs SHA256SUMS in a folder where keys are configured.
	sign func(ctx context.Context, folder string, log func(string, ...any)) error
}

// about is the file release.json of a release.
type about struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Time    string `json:"time"`
	// Go is the version of the Go toolchain, which determines the bytes of the programs.
	Go string `json:"go"`
}

const aboutFile = "release.json"

func (r run) release(ctx context.Context) error {
	if r.only != "" && !r.snapshot {
		return errors.New("a release has all platforms: -only needs -snapshot")
	}
	s, err := inspect(ctx, r.repo, r.snapshot)
	if err != nil {
		return err
	}
	earlier, err := r.earlier(s)
	if err != nil {
		return err
	}
	r.log("kubewright %s, commit %s", s.version, s.commit)
	// Below the repository, so that the result can be moved. git ignores bin, and tests that read the
	// sources of the project skip a folder with a dot.
	below := filepath.Join(r.repo, "bin")
	if err := os.MkdirAll(below, 0o755); err != nil {
		return err
	}
	here, err := os.MkdirTemp(below, ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(here)
	first, err := r.build(ctx, s, here)
	if err != nil {
		return err
	}
	if r.only == "" {
		if err := r.buildAgain(ctx, s, first); err != nil {
			return err
		}
	}
	if earlier {
		if err := sameFiles(r.dist, first); err != nil {
			return fmt.Errorf("%s holds another build of this commit, which is kept:\n%w\nMove or remove that folder", r.dist, err)
		}
		r.log("%s holds exactly these files already", r.dist)
		return r.sign(ctx, r.dist, r.log)
	}
	if err := r.sign(ctx, first, r.log); err != nil {
		return err
	}
	if err := os.Rename(first, r.dist); err != nil {
		return err
	}
	r.log("%s has the release", r.dist)
	return nil
}

// buildAgain builds the source in another folder, and compares.
func (r run) buildAgain(ctx context.Context, s source, first string) error {
	elsewhere, err := os.MkdirTemp("", "kubewright-built-elsewhere-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(elsewhere)
	r.log("again in another folder, to compare")
	second, err := r.build(ctx, s, filepath.Join(elsewhere, "with", "a", "longer", "path"))
	if err != nil {
		return err
	}
	if err := sameFiles(first, second); err != nil {
		return fmt.Errorf("two builds of the commit %.12s differ, so nothing is released:\n%w", s.commit, err)
	}
	r.log("both builds have the same bytes")
	return nil
}

// earlier reports whether dist holds a build of the source. It refuses anything else that is there.
func (r run) earlier(s source) (bool, error) {
	files, err := os.ReadDir(r.dist)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(files) == 0 {
		return false, os.Remove(r.dist)
	}
	b, err := os.ReadFile(filepath.Join(r.dist, aboutFile))
	if err != nil {
		return false, fmt.Errorf("%s holds files and no %s: it was not written by this program. Move or remove it", r.dist, aboutFile)
	}
	var old about
	if err := json.Unmarshal(b, &old); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(r.dist, aboutFile), err)
	}
	if old.Commit != s.commit || old.Version != s.version {
		return false, fmt.Errorf("%s holds %s of the commit %.12s, and this is %s of %.12s. Move or remove that folder", r.dist, old.Version, old.Commit, s.version, s.commit)
	}
	return true, nil
}

// sameFiles reports the files of two folders that differ, or that only one of them has. Signatures
// are added to a release later, and are no part of the comparison.
func sameFiles(a, b string) error {
	sumsA, err := sums(a)
	if err != nil {
		return err
	}
	sumsB, err := sums(b)
	if err != nil {
		return err
	}
	var different []string
	for _, name := range sortedKeys(sumsA, sumsB) {
		switch {
		case sumsA[name] == "":
			different = append(different, "  "+name+" is only in "+b)
		case sumsB[name] == "":
			different = append(different, "  "+name+" is only in "+a)
		case sumsA[name] != sumsB[name]:
			different = append(different, fmt.Sprintf("  %s has SHA-256 %s in one and %s in the other", name, sumsA[name], sumsB[name]))
		}
	}
	if len(different) > 0 {
		return errors.New(strings.Join(different, "\n"))
	}
	return nil
}
