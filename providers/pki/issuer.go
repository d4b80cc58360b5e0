package pki

import (
	"context"
	"crypto"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Options of an Issuer. The zero value is usable.
type Options struct {
	// Now is the reference time for every certificate of the run; zero means the time at
	// which the issuer is made. kubeadm too uses one time per run.
	Now time.Time
	// NewKey makes the private keys; nil means pki.NewKey. A test that needs many may
	// return the same key each time.
	NewKey func(algorithm string) (crypto.Signer, error)
}

// Issuer makes real keys and certificates. It keeps the CAs that it has read in memory, for
// one run. Its methods may be called from several goroutines.
//
// Errors from hosts keep their kind. After any error the issuer forgets the host's CAs, so
// that the next attempt reads them again.
type Issuer struct {
	now  time.Time
	pool pool

	mu  sync.Mutex
	cas map[place]*authority
}

// place is the location of a CA; the operator's have no host, and base is the reference.
type place struct {
	host providers.Host
	base string
}

var _ providers.GroupIssuer = (*Issuer)(nil)

// New makes an issuer for one run.
func New(opts Options) *Issuer {
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if opts.NewKey == nil {
		opts.NewKey = NewKey
	}
	return &Issuer{now: opts.Now.UTC().Truncate(time.Second), pool: pool{make: opts.NewKey}, cas: map[place]*authority{}}
}

// IssueCA implements providers.Issuer.
func (i *Issuer) IssueCA(ctx context.Context, on providers.Host, op planner.IssueCA, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op}, batch)
}

// IssueKeyPair implements providers.Issuer.
func (i *Issuer) IssueKeyPair(ctx context.Context, on providers.Host, op planner.IssueKeyPair, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op}, batch)
}

// IssueCertificate implements providers.Issuer.
func (i *Issuer) IssueCertificate(ctx context.Context, on, signer providers.Host, op planner.IssueCertificate, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op, Source: signer}, batch)
}

// WriteKubeconfig implements providers.Issuer.
func (i *Issuer) WriteKubeconfig(ctx context.Context, on, signer providers.Host, op planner.WriteKubeconfig, token state.Secret, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op, Source: signer, Token: token}, batch)
}

// SetKubeconfig implements providers.Issuer.
func (i *Issuer) SetKubeconfig(ctx context.Context, on providers.Host, op planner.SetKubeconfig, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op}, batch)
}

// CopySecrets implements providers.Issuer.
func (i *Issuer) CopySecrets(ctx context.Context, from, to providers.Host, op planner.CopySecrets, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, to, providers.KeyRequest{Operation: op, Source: from}, batch)
}

// ImportSecrets implements providers.Issuer.
func (i *Issuer) ImportSecrets(ctx context.Context, on providers.Host, op planner.ImportSecrets, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op}, batch)
}

func (i *Issuer) one(ctx context.Context, on providers.Host, r providers.KeyRequest, batch providers.Batch) (providers.Outcome, error) {
	outcomes, err := i.IssueAll(ctx, on, []providers.KeyRequest{r}, batch)
	if len(outcomes) == 0 {
		return providers.Outcome{}, err
	}
	return outcomes[0], err
}

// BundleTrust implements providers.Issuer.
func (i *Issuer) BundleTrust(ctx context.Context, on providers.Host, op planner.BundleTrust, batch providers.Batch) (providers.Outcome, error) {
	return i.one(ctx, on, providers.KeyRequest{Operation: op}, batch)
}

// IssueAll implements providers.GroupIssuer: it reads from each host concerned in one round
// trip, makes keys concurrently, and writes in one round trip.
func (i *Issuer) IssueAll(ctx context.Context, on providers.Host, requests []providers.KeyRequest, batch providers.Batch) ([]providers.Outcome, error) {
	g := newGroup(i, on, requests, batch.Contents)
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	if err := g.makeKeys(ctx); err != nil {
		return nil, err
	}
	for n := range g.jobs {
		if err := g.stage(&g.jobs[n]); err != nil {
			return nil, err
		}
	}
	return g.write(ctx, batch)
}

// known returns the CA if it was read before, with its key if key is set.
func (i *Issuer) known(p place, key bool) *authority {
	i.mu.Lock()
	defer i.mu.Unlock()
	if a := i.cas[p]; a != nil && (a.key != nil || !key) {
		return a
	}
	return nil
}

func (i *Issuer) remember(p place, a *authority) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cas[p] = a
}

// forget drops CAs of a host: those whose files are among the paths, or all of them without
// paths.
func (i *Issuer) forget(host providers.Host, paths ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(paths) == 0 {
		for p := range i.cas {
			if p.host == host {
				delete(i.cas, p)
			}
		}
	}
	for _, path := range paths {
		delete(i.cas, place{host, strings.TrimSuffix(strings.TrimSuffix(path, ".crt"), ".key")})
	}
}
