package shell

import (
	"bytes"
	"context"
	"regexp"
	"sync"

	"github.com/kubewright/kubewright/state"
)

// sudoPassword is the sudo password of one host. It stays in memory, and is sent only after
// sudo has asked for it there. A nil *sudoPassword has none.
type sudoPassword struct {
	// prompt asks the operator for the password, at most once; nil without an operator.
	prompt func(ctx context.Context) (state.Secret, error)

	mu     sync.Mutex
	asked  bool // the operator
	wants  bool // sudo has asked for a password on this host
	secret state.Secret
}

// wanted returns the password if sudo has asked for one on this host.
func (p *sudoPassword) wanted() state.Secret {
	if p == nil {
		return state.Secret{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.wants {
		return state.Secret{}
	}
	return p.secret
}

// has reports whether a password is known, sent or not.
func (p *sudoPassword) has() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.secret.IsZero()
}

// refused forgets a password that sudo has refused, since further attempts could lock the
// account.
func (p *sudoPassword) refused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret = state.Secret{}
}

// ask records that sudo wants a password on this host, gets it from the operator if
// unknown, and reports whether there is one for another attempt.
func (p *sudoPassword) ask(ctx context.Context) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wants = true
	if p.secret.IsZero() && !p.asked && p.prompt != nil {
		p.asked = true
		if secret, err := p.prompt(ctx); err == nil {
			p.secret = secret
		}
	}
	if bytes.ContainsAny(p.secret.Reveal(), "\n\x00") {
		p.secret = state.Secret{}
	}
	return !p.secret.IsZero()
}

// passwordRequired matches the message of sudo -n and sudo-rs -n in the C locale when they
// cannot continue without a password.
var passwordRequired = regexp.MustCompile(`(?m)^sudo(-rs)?: .*\b(password|authentication|interaction)\b.* required\b`)

// asksPassword reports whether sudo has asked a login user for a password. A login as root
// needs none, and gets none.
func asksPassword(a answer) bool {
	for _, sec := range a.sections {
		if sec.words[0] == "entered" {
			return len(sec.words) == 2 && sec.words[1] != "0" && passwordRequired.Match(a.stderr)
		}
	}
	return false
}
