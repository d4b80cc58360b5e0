package adoption

import (
	"strings"
	"testing"
)

// FuzzHop checks that no address panics, that an accepted one has a host, and that no message
// contains a password.
func FuzzHop(f *testing.F) {
	for _, s := range []string{"ssh://root@10.0.0.11", "ssh://[fd00::1]:22", "ssh://a:c4nary@h", "sim://x", "ssh://", "ssh://%zz", "10.0.0.1", "ssh://h/a?b#c", "ssh://u:c4nary@", "ssh://u:c4nary@h/path"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		c, err := hop(id)
		switch {
		case err != nil && strings.Contains(id, ":c4nary@") && strings.Contains(err.Error(), "c4nary"):
			t.Errorf("%q: %v", id, err)
		case err == nil && c.Host == "":
			t.Errorf("%q has no host", id)
		case err == nil && strings.Contains(c.User, ":c4nary"):
			t.Errorf("%q: the password is accepted", id)
		}
	})
}
