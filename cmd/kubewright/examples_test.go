package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/providers/sim"
)

// exampleNeeds is what an operator adds to an example that holds no secret: files in the
// folder, and variables in the form of the environment.
var exampleNeeds = map[string]func(t *testing.T, o *operator, dir string) (environ []string){
	"air-gapped": func(t *testing.T, _ *operator, dir string) []string {
		if err := bringArtifacts(filepath.Join(dir, "artifacts"), "amd64"); err != nil {
			t.Fatal(err)
		}
		w, err := sim.Open(filepath.Join(dir, "kubewright.sim.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"10.77.0.11", "10.77.0.12", "10.77.0.13", "10.77.0.21", "10.77.0.22"} {
			for _, edit := range []string{"profile bare", "condition no-registry on"} {
				if err := sim.Edit(w, host, edit); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Save(); err != nil {
			t.Fatal(err)
		}
		return nil
	},
	"external-ca": func(t *testing.T, o *operator, dir string) []string {
		o.mustCA(t, dir)
		key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
			t.Fatal(err)
		}
		return []string{"KUBEWRIGHT_VAR_ca_key=" + string(key)}
	},
	"external-etcd": func(t *testing.T, o *operator, dir string) []string {
		if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
			t.Fatal(err)
		}
		o.mustCA(t, filepath.Join(dir, "etcd"))
		client := pki.Supply{Name: "client", Certificate: kubeadm.Certificate{CommonName: "kube-apiserver-etcd-client", Usages: []string{"client auth"}}}
		files := o.cas["ca"].Supply(t, client, simulated, simulated.AddDate(1, 0, 0), nil)
		if err := os.WriteFile(filepath.Join(dir, "etcd", "client.crt"), files["client.crt"], 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"KUBEWRIGHT_VAR_etcd_client_key=" + string(files["client.key"])}
	},
	"external-ca-keyless": func(t *testing.T, o *operator, dir string) []string {
		o.mustCA(t, dir)
		if err := o.supply(t, dir, "ca", simulated.AddDate(1, 0, 0)); err != nil {
			t.Fatal(err)
		}
		return nil
	},
}

func (o *operator) mustCA(t *testing.T, dir string) {
	t.Helper()
	if err := o.makeCA(t, dir, "ca"); err != nil {
		t.Fatal(err)
	}
}

// TestExamplesLifeCycle runs the life cycle of every example on simulated hosts, and its tests.
func TestExamplesLifeCycle(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, en := range entries {
		if !en.IsDir() {
			continue
		}
		t.Run(en.Name(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, en.Name()))); err != nil {
				t.Fatal(err)
			}
			x := example{t: t, dir: dir}
			if need := exampleNeeds[en.Name()]; need != nil {
				x.environ = need(t, &x.operator, dir)
			}
			x.run(0, "plan")
			x.run(0, "apply", "-auto-approve")
			x.run(0, "plan", "-detailed-exitcode")
			x.run(0, "destroy", "-auto-approve")
			if _, err := os.Stat(filepath.Join(dir, "tests")); err == nil {
				x.run(0, "test")
			}
		})
	}
}

// TestExampleCAScriptFits checks that the CA that an example generates for a trial fits.
func TestExampleCAScriptFits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(examples, "external-ca"))); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("sh", "ca.sh")
	script.Dir = dir
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	x := example{t: t, dir: dir, environ: []string{"KUBEWRIGHT_VAR_ca_key=" + string(key)}}
	x.run(0, "plan")
}

// example is an example in its own folder.
type example struct {
	operator
	t       *testing.T
	dir     string
	environ []string
}

// run runs a command in the folder and checks the exit code.
func (x *example) run(want int, args ...string) string {
	x.t.Helper()
	var out bytes.Buffer
	w := &watched{Writer: &out}
	code := cli.Main(&console.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: w, Stderr: w,
		Getenv: func(string) string { return "" }, Environ: x.environ, Dir: x.dir,
		Size: func() (int, int) { return 0, 0 }, Now: func() time.Time { return simulated },
		NewID: func() string { x.ids++; return fmt.Sprintf("%032x", x.ids) },
		Who:   "ada@laptop",
	})
	if code != want {
		x.t.Fatalf("kubewright %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out.String())
	}
	return out.String()
}
