package hosts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/providers"
)

// TestEveryErrorHasARemedy checks that each error has a remedy that helps.
func TestEveryErrorHasARemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"the error says it itself": {
			&providers.Error{Kind: providers.ErrHostKeyUnknown, Do: "log in", Cause: providers.WithRemedy(errors.New("unreadable"), "correct line 3")},
			"correct line 3",
		},
		"a bastion accepts no key": {
			fmt.Errorf("cannot reach 10.0.0.1 through bastion b: %w", &providers.Error{Kind: providers.ErrAuth, Do: "log in to root@b:22"}),
			"check user and private_key of the bastion, and that it has the public key in authorized_keys",
		},
		"a bastion forwards nothing": {
			fmt.Errorf("cannot reach 10.0.0.1 through bastion b: %w", &providers.Error{Kind: providers.ErrNoForwarding, Do: "connect to 10.0.0.1:22 from b"}),
			"have the bastion's sshd forward connections to the host: AllowTcpForwarding yes, and PermitOpen if it is set",
		},
	} {
		if got := Remedy(c.err); got != c.want {
			t.Errorf("%s: it says %q, want %q", name, got, c.want)
		}
	}
}
