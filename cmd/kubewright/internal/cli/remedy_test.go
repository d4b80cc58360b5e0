package cli

import (
	"errors"
	"testing"

	"github.com/kubewright/kubewright/providers"
)

// TestRemedy: what is to be done is what helps.
func TestRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"the error says it itself": {
			&providers.Error{Kind: providers.ErrHostKeyUnknown, Do: "log in", Cause: providers.WithRemedy(errors.New("unreadable"), "correct line 3")},
			"correct line 3",
		},
	} {
		if got := remedy(c.err); got != c.want {
			t.Errorf("%s: it says %q, want %q", name, got, c.want)
		}
	}
}
