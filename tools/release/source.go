package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// A source is the commit that a release is made of.
type source struct {
	commit  string
	time    time.Time
	version string // without v
	// snapshot reports whether the version is derived from the commit.
	snapshot bool
}

// inspect returns the commit that is checked out. It refuses what no release can be made of.
func inspect(ctx context.Context, repo string, snapshot bool) (source, error) {
	dirty, err := git(ctx, repo, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if dirty != "" {
		return source{}, fmt.Errorf("the checkout has changes that are in no commit:\n%s\nCommit or stash them: a release is what its commit says", dirty)
	}
	about, err := git(ctx, repo, "log", "-1", "--format=%H %cI")
	if err != nil {
		return source{}, err
	}
	commit, date, _ := strings.Cut(about, " ")
	when, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return source{}, err
	}
	s := source{commit: commit, time: when.UTC(), snapshot: snapshot}
	tags, err := versionTags(ctx, repo, "tag", "--points-at", "HEAD")
	switch {
	case err != nil:
		return source{}, err
	case len(tags) > 1:
		return source{}, fmt.Errorf("the commit %.12s has several versions: %s. Remove all tags but one", commit, strings.Join(tags, ", "))
	case len(tags) == 1 && snapshot:
		return source{}, fmt.Errorf("the commit %.12s is %s and no snapshot: run make release", commit, tags[0])
	case len(tags) == 1:
		s.version = strings.TrimPrefix(tags[0], "v")
		return s, nil
	case !snapshot:
		return source{}, fmt.Errorf("the commit %.12s has no version: tag it as vMAJOR.MINOR.PATCH, or run make snapshot to try a release without one", commit)
	}
	earlier, err := versionTags(ctx, repo, "tag", "--merged", "HEAD")
	if err != nil {
		return source{}, err
	}
	last := ""
	for _, t := range earlier {
		if semver.Compare(t, last) > 0 {
			last = t
		}
	}
	s.version = strings.TrimPrefix(module.PseudoVersion(semver.Major(last), last, s.time, commit[:12]), "v")
	return s, nil
}

// versionTags lists the tags that are semantic versions. Tags such as v1 and v1.2 are none.
func versionTags(ctx context.Context, repo string, args ...string) ([]string, error) {
	out, err := git(ctx, repo, args...)
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, t := range strings.Fields(out) {
		if semver.IsValid(t) && semver.Canonical(t) == t {
			tags = append(tags, t)
		}
	}
	return tags, nil
}

func git(ctx context.Context, repo string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(failure.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
