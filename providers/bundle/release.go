package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/kubewright/kubewright/state/safefile"
)

// release is one file of a project's release.
type release struct {
	// file is its path in the folder, url its location, sums the location of its SHA-256.
	file string
	// like matches the file's name in any version.
	like string
	url  func(s Sources) string
	sums func(s Sources) string
}

// releases lists the desired files. Each project publishes sums in its own way: FILE.sha256
// with the bare sum, or with a line of sha256sum; runc has one file for all.
func (w Wish) releases() []release {
	var out []release
	for _, arch := range w.Architectures {
		for _, program := range w.programs() {
			out = append(out, release{file: arch + "/" + program, url: func(s Sources) string {
				return s.Kubernetes + "/release/v" + w.Kubernetes + "/bin/linux/" + arch + "/" + program
			}})
		}
		out = append(out,
			onGitHub("containerd/containerd", w.Containerd, "containerd-"+w.Containerd+"-linux-"+arch+".tar.gz", ".sha256sum"),
			onGitHub("opencontainers/runc", w.Runc, "runc."+arch, ""),
			onGitHub("containernetworking/plugins", w.CNIPlugins, "cni-plugins-linux-"+arch+"-v"+w.CNIPlugins+".tgz", ".sha256"),
			onGitHub("kubernetes-sigs/cri-tools", w.Crictl, "crictl-v"+w.Crictl+"-linux-"+arch+".tar.gz", ".sha256"))
	}
	kept := out[:0]
	for _, r := range out {
		if r.url == nil {
			continue
		}
		if r.sums == nil {
			r.sums = func(s Sources) string { return r.url(s) + ".sha256" }
		}
		kept = append(kept, r)
	}
	return kept
}

// programs returns the desired programs of Kubernetes.
func (w Wish) programs() []string {
	if w.Kubernetes == "" {
		return nil
	}
	return []string{"kubelet", "kubeadm", "kubectl"}
}

// onGitHub returns a file of a GitHub release; without a suffix its sum is in the release's
// common file. Without a version it returns none.
func onGitHub(repository, version, file, suffix string) release {
	if version == "" {
		return release{}
	}
	at := func(s Sources) string { return s.GitHub + "/" + repository + "/releases/download/v" + version + "/" }
	sums := file + suffix
	if suffix == "" {
		sums = path.Base(repository) + ".sha256sum"
	}
	return release{file: file, like: strings.ReplaceAll(file, version, "*"), url: func(s Sources) string { return at(s) + file }, sums: func(s Sources) string { return at(s) + sums }}
}

// release fetches a file unless the published version is there already.
func (b *bundle) release(ctx context.Context, r release) error {
	want, err := b.published(ctx, r)
	if err != nil {
		return err
	}
	what := Fetched
	switch have, err := sumOf(b.path(r.file)); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case have == want && b.sums[r.file] == want:
		b.done(r.file, Present)
		return nil
	case have == want:
		return b.place("", r.file, want, Present)
	case b.sums[r.file] == have:
		what = Replaced
	default:
		return fmt.Errorf("the file that is there has SHA-256 %s, and %s says %s: it was changed or is cut off. Remove it, and run the command again", have, r.sums(b.sources), want)
	}
	part, err := b.fetch(ctx, r, want)
	if err != nil {
		return err
	}
	return b.place(part, r.file, want, what)
}

// published returns the SHA-256 that the project publishes for a file.
func (b *bundle) published(ctx context.Context, r release) (string, error) {
	body, err := b.get(ctx, r.sums(b.sources))
	if err != nil {
		return "", err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		words := strings.Fields(line)
		if len(words) == 0 || len(words) > 1 && path.Base(strings.TrimPrefix(words[1], "*")) != path.Base(r.file) {
			continue
		}
		if sum, err := hex.DecodeString(words[0]); err == nil && len(sum) == sha256.Size {
			return strings.ToLower(words[0]), nil
		}
	}
	return "", fmt.Errorf("%s has no SHA-256 of it", r.sums(b.sources))
}

// releaseMost bounds how much of a release file is fetched, in bytes.
const releaseMost = 1 << 30

// fetch downloads a file under its temporary name and compares its sum.
func (b *bundle) fetch(ctx context.Context, r release, want string) (string, error) {
	body, err := b.get(ctx, r.url(b.sources))
	if err != nil {
		return "", err
	}
	defer body.Close()
	f, err := b.begin(r.file)
	if err != nil {
		return "", err
	}
	part := f.Name()
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, releaseMost)) // a longer file fails the check
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		if have := hex.EncodeToString(sum.Sum(nil)); have != want {
			err = fmt.Errorf("%s has SHA-256 %s, and %s says %s. Nothing was kept of it", r.url(b.sources), have, r.sums(b.sources), want)
		}
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	return part, nil
}

func (b *bundle) get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := b.sources.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s answers %s", url, answer.Status), answer.Body.Close())
	}
	return answer.Body, nil
}

// sumOf returns the SHA-256 of a file, in hex.
func sumOf(name string) (string, error) {
	f, err := safefile.OpenLinked(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
