package workspace

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
)

// FuzzLastUsed checks that any content of the file in which a folder remembers its backend
// gives a place, or an error that names the file or the backend, and that an accepted place
// survives being remembered and read again.
func FuzzLastUsed(f *testing.F) {
	for _, s := range []string{
		`{"type":"http","place":"https://gitlab.example.com/api/v4/projects/1/terraform/state/prod","settings":{"address":"https://gitlab.example.com/api/v4/projects/1/terraform/state/prod","username":"ann"}}`,
		`{"type":"s3","place":"s3://states/prod","settings":{"bucket":"states","key":"prod","region":"eu-central-1"}}`,
		`{"type":"pg","place":"postgres://db.example.com/states (schema prod)","settings":{"conn_str":"postgres://ann@db.example.com/states","schema_name":"prod"}}`,
		`{"type":"kubernetes","place":"Secret kube-system/kubewright-state-prod","settings":{"secret_suffix":"prod"}}`,
		`{"type":"local","place":"/srv/prod/kubewright.state.json"}`,
		`{"type":"gcs","place":"gs://states"}`,
		`{"type":"http","settings":{"address":"ftp://h","nonsense":""}}`,
		`{"type":"http","settings":null}`, `{"type":7}`, "null", "", "{", "[]", "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		a := &Workspace{Console: &console.Console{Env: &console.Env{Dir: dir, Getenv: func(string) string { return "" }}}}
		if err := os.MkdirAll(filepath.Dir(a.usedPath()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.usedPath(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := a.LastPlace()
		if err != nil {
			if !strings.Contains(err.Error(), a.usedPath()) || !strings.Contains(err.Error(), "init -reconfigure") {
				t.Errorf("%q: %v", b, err)
			}
			return
		}
		if u.Type != "kubernetes" { // that one reads the files it names
			if opened, err := a.Reopen(u); err == nil && u.Type != LocalType && (opened.Place != u.Place || opened.Backend == nil) {
				t.Errorf("%q is reopened as %+v", b, opened)
			} else if err != nil && u.Type == LocalType {
				t.Errorf("%q: the file beside the configuration cannot be opened: %v", b, err)
			}
		}
		if u.Type == LocalType {
			return // the folder remembers nothing for it
		}
		if err := a.RememberPlace(u); err != nil {
			t.Fatal(err)
		}
		if again, err := a.LastPlace(); err != nil || again.Type != u.Type || again.Place != u.Place || !maps.Equal(again.Settings, u.Settings) {
			t.Errorf("%+v is read from %q, and from its remembered form %+v, %v", u, b, again, err)
		}
	})
}
