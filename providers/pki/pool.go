package pki

import (
	"context"
	"crypto"
	"runtime"
	"sync"

	"github.com/kubewright/kubewright/planner"
)

// pool holds keys that were made in advance. RSA keys take long, and there is time while a
// plan is confirmed or packages are installed.
type pool struct {
	make func(algorithm string) (crypto.Signer, error)
	mu   sync.Mutex
	keys map[string][]crypto.Signer
}

// Prepare starts to make the keys that the plan's steps will need, in the background, and
// returns at once. It ends when all are made or the context is done. A key that is needed
// earlier is made on demand; an unneeded one is dropped with the issuer.
func (i *Issuer) Prepare(ctx context.Context, plan *planner.Plan) {
	var wanted []string
	for _, s := range plan.Steps {
		for _, op := range s.Operations {
			if algorithm, ok := needsKey(op); ok {
				wanted = append(wanted, algorithm)
			}
		}
	}
	queue := make(chan string, len(wanted))
	for _, algorithm := range wanted {
		queue <- algorithm
	}
	close(queue)
	// Leave one processor to everything else.
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		go func() {
			for algorithm := range queue {
				if ctx.Err() != nil {
					return
				}
				if key, err := i.pool.make(algorithm); err == nil {
					i.pool.put(algorithm, key)
				}
			}
		}()
	}
}

// needsKey returns the algorithm of the key that an operation makes, if any.
func needsKey(op planner.Operation) (algorithm string, ok bool) {
	switch op := op.(type) {
	case planner.IssueCA:
		return op.Algorithm, true
	case planner.IssueKeyPair:
		return op.Algorithm, true
	case planner.IssueCertificate:
		return op.Algorithm, true
	case planner.WriteKubeconfig:
		return op.Algorithm, op.Token == nil
	}
	return "", false
}

func (p *pool) put(algorithm string, key crypto.Signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[string][]crypto.Signer{}
	}
	p.keys[algorithm] = append(p.keys[algorithm], key)
}

// take returns a key, each to one caller only, or makes one.
func (p *pool) take(algorithm string) (crypto.Signer, error) {
	p.mu.Lock()
	if ready := p.keys[algorithm]; len(ready) > 0 {
		p.keys[algorithm] = ready[:len(ready)-1]
		p.mu.Unlock()
		return ready[len(ready)-1], nil
	}
	p.mu.Unlock()
	return p.make(algorithm)
}
