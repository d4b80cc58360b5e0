package shell

import (
	"bytes"
	"context"
	"sync"

	"github.com/kubewright/kubewright/state"
)

// sudoPassword asks the operator for a host's sudo password, at most once, and
// keeps it in memory. A nil *sudoPassword knows none.
type sudoPassword struct {
	prompt func(ctx context.Context) (state.Secret, error)

	mu     sync.Mutex
	asked  bool
	secret state.Secret
}

// known is the password as far as it has been asked for.
func (p *sudoPassword) known() state.Secret {
	if p == nil {
		return state.Secret{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secret
}

// ask makes sure that the password is known after a host has refused to go on.
// tried is what it refused; when that was a password it is not used again, lest
// the account gets locked. It reports whether another attempt makes sense.
func (p *sudoPassword) ask(ctx context.Context, tried state.Secret) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !tried.IsZero():
		p.secret = state.Secret{}
		return false
	case p.asked || p.prompt == nil:
		return !p.secret.IsZero()
	}
	p.asked = true
	secret, err := p.prompt(ctx)
	if err != nil || secret.IsZero() || bytes.ContainsAny(secret.Reveal(), "\n\x00") {
		return false
	}
	p.secret = secret
	return true
}
