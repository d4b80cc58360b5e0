package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/state/safefile"
)

// Commit returns the commit that is checked out where the configuration folder is in a git
// repository, or nothing if that is unknown. It does not say whether the files are changed.
//
// git is not run: the configuration of a repository can name programs that it starts. Only a few
// small regular files are read, and nothing of them is returned but the hexadecimal name of a
// commit, so that a repository whose files lead elsewhere discloses nothing.
func (a *Workspace) Commit() string {
	dir, err := filepath.Abs(a.Folder())
	if err != nil {
		return ""
	}
	for {
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if !own(info) {
				return ""
			}
			return headOf(filepath.Join(dir, ".git"))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// own reports whether a repository belongs to this user or to root, as git demands: anyone can put
// one into a folder above, such as /tmp.
func own(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}

var (
	commitName = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	// branchName allows less than git: what it refuses is unknown.
	branchName = regexp.MustCompile(`^refs/[\w./@+-]+$`)
)

// headOf returns the commit that is checked out, from what .git is: a folder, or in a worktree
// or submodule a file that names one.
func headOf(git string) string {
	if link, ok := strings.CutPrefix(gitFile(git, ""), "gitdir: "); ok {
		git = from(filepath.Dir(git), link)
	}
	head := gitFile(git, "HEAD")
	if commitName.MatchString(head) {
		return head
	}
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok || !branchName.MatchString(ref) || !filepath.IsLocal(ref) {
		return ""
	}
	if common := gitFile(git, "commondir"); common != "" {
		git = from(git, common)
	}
	if commit := gitFile(git, ref); commitName.MatchString(commit) {
		return commit
	}
	for line := range strings.Lines(gitFile(git, "packed-refs")) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref && commitName.MatchString(commit) {
			return commit
		}
	}
	return ""
}

// from returns a path that may be relative to a folder.
func from(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// maxGitFile is the size up to which a file of git is read. packed-refs has a line for each branch
// and tag.
const maxGitFile = 8 << 20

// gitFile returns a file of git without its line break, or nothing.
func gitFile(folder, name string) string {
	b, err := safefile.Read(filepath.Join(folder, name), maxGitFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
