package host

import (
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestWhatIsAtAHostPathIsNamed checks the names of what may be in the place of a file.
func TestWhatIsAtAHostPathIsNamed(t *testing.T) {
	for want, f := range map[string]state.FileReport{
		"a symbolic link to /srv/other": {Type: "link", Link: "/srv/other"},
		"a symbolic link":               {Type: "link"},
		"a directory":                   {Type: "directory"},
		"a file":                        {Type: "file"},
		"a device, socket or pipe":      {Type: "other"},
	} {
		if got := whatIs(f); got != want {
			t.Errorf("%+v is %q, want %q", f, got, want)
		}
	}
}

// TestWritableByOthers checks who can put something in the place of a file.
func TestWritableByOthers(t *testing.T) {
	for _, c := range []struct {
		mode, owner string
		want        bool
	}{
		{"0755", "root:root", false}, {"0775", "root:root", false}, {"0775", "root:adm", true}, {"0757", "root:root", true}, {"0755", "ann:root", true}, {"", "root:root", false},
	} {
		if got := writableByOthers(state.FileReport{Mode: c.mode, Owner: c.owner}); got != c.want {
			t.Errorf("mode %q of %q: %v, want %v", c.mode, c.owner, got, c.want)
		}
	}
}
