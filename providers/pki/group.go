package pki

import (
	"cmp"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

const (
	crt = ".crt"
	key = ".key"
	pub = ".pub"

	rootOwner  = "root:root"
	publicMode = "0644"
	secretMode = "0600"
)

// group is a set of operations with keys for one host that travel together.
type group struct {
	issuer *Issuer
	on     providers.Host
	jobs   []job
	// wanted are the paths to read from each host, files their contents.
	wanted map[providers.Host][]string
	files  map[providers.Host]map[string]state.Secret
	// contents has the operator's files, by reference.
	contents map[string]state.Secret
	// staged are the files to write, in order, and by path.
	staged []stagedFile
	byPath map[string][]byte
}

// job is one operation of a group.
type job struct {
	providers.KeyRequest
	// source is the host with the CA or the files.
	source providers.Host
	key    crypto.Signer
}

// stagedFile is a file to write, for the job with the given index.
type stagedFile struct {
	job                     int
	path, mode, owner, hash string
	content                 []byte
}

func newGroup(i *Issuer, on providers.Host, requests []providers.KeyRequest, contents map[string]state.Secret) *group {
	g := &group{
		issuer: i, on: on, jobs: make([]job, len(requests)), contents: contents,
		wanted: map[providers.Host][]string{}, files: map[providers.Host]map[string]state.Secret{}, byPath: map[string][]byte{},
	}
	for n, r := range requests {
		g.jobs[n] = job{KeyRequest: r, source: r.Source}
		if r.Source == nil {
			g.jobs[n].source = on
		}
		g.want(&g.jobs[n])
	}
	return g
}

// want notes which files a job needs. It requests keys only if they sign something, or are
// copied.
func (g *group) want(j *job) {
	switch op := j.Operation.(type) {
	case planner.IssueCA:
		g.see(g.on, op.To+crt)
		if !op.Renew {
			g.see(g.on, op.To+key)
		}
	case planner.IssueKeyPair:
		g.see(g.on, op.To+key)
	case planner.IssueCertificate:
		if !op.Renew {
			g.see(g.on, op.To+crt)
		}
		g.seeCA(j.source, op.CA, true)
	case planner.WriteKubeconfig:
		if !op.Renew && op.Token == nil {
			g.see(g.on, op.Path)
		}
		g.seeCA(j.source, op.CA, op.Token == nil)
		if op.Trust != "" {
			g.see(j.source, op.Trust)
		}
	case planner.SetKubeconfig:
		g.see(g.on, op.Path)
		if op.Trust != "" {
			g.see(g.on, op.Trust)
		}
	case planner.CopySecrets:
		for _, f := range op.Files {
			g.see(j.source, cmp.Or(f.Source, f.Path))
		}
	case planner.WriteEncryption:
		g.see(g.on, op.Path)
		g.see(j.source, op.Path)
	case planner.BundleTrust:
		for _, path := range append([]string{op.To}, op.Of...) {
			g.see(g.on, path)
		}
	}
}

func (g *group) see(host providers.Host, path string) {
	if !slices.Contains(g.wanted[host], path) {
		g.wanted[host] = append(g.wanted[host], path)
	}
}

func (g *group) seeCA(host providers.Host, ca planner.Signer, withKey bool) {
	if ca.Operator != "" || g.issuer.known(place{host, ca.Base}, withKey) != nil {
		return
	}
	g.see(host, ca.Base+crt)
	if withKey {
		g.see(host, ca.Base+key)
	}
}

// read fetches the wanted files: one round trip for each host, concurrently.
func (g *group) read(ctx context.Context) error {
	type answer struct {
		host  providers.Host
		files map[string]state.Secret
	}
	answers := make(chan answer, len(g.wanted))
	eg, ctx := errgroup.WithContext(ctx)
	for host, paths := range g.wanted {
		eg.Go(func() error {
			files, err := host.ReadSecrets(ctx, paths)
			if err != nil {
				return fmt.Errorf("cannot read certificates: %w", err)
			}
			answers <- answer{host, files}
			return nil
		})
	}
	err := eg.Wait()
	close(answers)
	for a := range answers {
		g.files[a.host] = a.files
	}
	return err
}

// exists reports whether the group's host has the file, or will have it.
func (g *group) exists(path string) bool {
	_, ok := g.content(g.on, path)
	return ok
}

// content returns a file as it will be when the job runs.
func (g *group) content(host providers.Host, path string) ([]byte, bool) {
	if host == g.on {
		if b, ok := g.byPath[path]; ok {
			return b, true
		}
	}
	s, ok := g.files[host][path]
	ok = ok && !s.IsZero()
	return s.Reveal(), ok
}

// algorithm returns the algorithm of the new key that a job needs; ok is false if it needs
// none.
func (g *group) algorithm(j *job) (name string, ok bool) {
	name, ok = needsKey(j.Operation)
	switch op := j.Operation.(type) {
	case planner.IssueCA:
		ok = op.Renew || !g.exists(op.To+crt) && !g.exists(op.To+key)
	case planner.IssueKeyPair:
		ok = !g.exists(op.To + key)
	case planner.IssueCertificate:
		ok = op.Renew || !g.exists(op.To+crt)
	case planner.WriteKubeconfig:
		ok = ok && (op.Renew || !g.exists(op.Path))
	}
	return name, ok
}

// makeKeys makes all new keys concurrently: with RSA that takes most of the time.
func (g *group) makeKeys(ctx context.Context) error {
	var eg errgroup.Group
	eg.SetLimit(runtime.GOMAXPROCS(0))
	for n := range g.jobs {
		j := &g.jobs[n]
		algorithm, ok := g.algorithm(j)
		if !ok {
			continue
		}
		eg.Go(func() (err error) {
			if ctx.Err() == nil {
				j.key, err = g.issuer.pool.take(algorithm)
			}
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// put stages a file for the job.
func (g *group) put(j *job, path, mode, owner string, content []byte) {
	sum := sha256.Sum256(content)
	g.byPath[path] = content
	g.staged = append(g.staged, stagedFile{
		job: g.index(j), path: path, mode: mode, owner: owner, content: content, hash: hex.EncodeToString(sum[:]),
	})
}

func (g *group) index(j *job) int {
	for n := range g.jobs {
		if &g.jobs[n] == j {
			return n
		}
	}
	return -1
}

// write sends all staged files to the host, and returns the outcome of each job.
func (g *group) write(ctx context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	outcomes := make([]providers.Outcome, len(g.jobs))
	if len(g.staged) == 0 {
		return outcomes, nil
	}
	// The host must get the staged files only, not the operator's inputs.
	batch.Operations, batch.Contents = nil, map[string]state.Secret{}
	paths := make([]string, len(g.staged))
	for n, f := range g.staged {
		ref := "pki:" + f.path
		batch.Contents[ref] = state.NewSecret(f.content)
		batch.Operations = append(batch.Operations, planner.WriteFile{
			Path: f.path, Mode: f.mode, Owner: f.owner, Content: planner.Content{Ref: ref}, SHA256: f.hash,
		})
		paths[n] = f.path
	}
	done, err := g.on.Perform(ctx, batch)
	g.issuer.forget(g.on, paths...)
	for n, o := range done {
		outcomes[g.staged[n].job].Changed = outcomes[g.staged[n].job].Changed || o.Changed
	}
	if err != nil {
		g.issuer.forget(g.on)
		return outcomes[:g.attempted(len(done))], err
	}
	return outcomes, nil
}

// attempted returns how many jobs were begun, given the number of files that were.
func (g *group) attempted(files int) int {
	if files == 0 {
		return 0
	}
	return g.staged[min(files, len(g.staged))-1].job + 1
}
