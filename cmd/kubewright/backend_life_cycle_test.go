package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/kubernetes"
	"github.com/kubewright/kubewright/state/backend/kubernetes/kubernetestest"
	"github.com/kubewright/kubewright/state/backend/s3"
)

// placed is two operators whose state is in a backend that both reach.
type placed struct {
	*shared
	environment map[string]string
	// place is the same backend, as another run reaches it.
	place backend.Backend
}

// as runs a command of the named operator.
func (p *placed) as(f folder, who string, args ...string) (int, string) {
	env, printed := p.operator(f, who, args...)
	env.Getenv = func(name string) string { return p.environment[name] }
	return cli.Main(env), printed()
}

func (p *placed) want(f folder, who string, code int, text string, args ...string) {
	p.t.Helper()
	got, said := p.as(f, who, args...)
	if words := strings.Join(strings.Fields(said), " "); got != code || !strings.Contains(words, text) {
		p.t.Errorf("%s of %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), who, got, code, text, said)
	}
}

// kept returns the stored state.
func (p *placed) kept() string {
	p.t.Helper()
	o, err := p.place.Read(context.Background())
	if err != nil || o == nil {
		p.t.Fatalf("the place keeps nothing: %v", err)
	}
	return string(o.Data)
}

// seal adds an encryption block for the state.
func (p *placed) seal(block string) string {
	p.t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		p.t.Fatal(err)
	}
	file := newFolder(p.t, id.String()+"\n") // the file name main.hcl is arbitrary here
	p.environment["KUBEWRIGHT_AGE_IDENTITY"] = string(file) + "/main.hcl"
	return strings.Replace(block, "kubewright {\n", fmt.Sprintf("kubewright {\n  encryption {\n    recipients = [%q]\n  }\n", id.Recipient()), 1)
}

// works runs the life cycle of a state in its backend: init, apply and destroy from two
// folders, with the lock held by another run, encrypted or not.
func (p *placed) works(block string, sealed bool) {
	t := p.t
	t.Helper()
	if sealed {
		block = p.seal(block)
	}
	ada := newFolder(t, block+ciConfig)
	p.shared.from = ada
	grace := ada.other(t)
	p.want(ada, "ada@laptop", 0, "There is none yet: the first apply makes it.", "init")
	p.want(ada, "ada@laptop", 0, "Saved the plan to", "plan", "-out=plan.kwplan")
	p.want(ada, "ada@laptop", 0, "Apply complete!", "apply", "-auto-approve", "plan.kwplan")
	if ada.has("kubewright.state.json") || strings.HasPrefix(p.kept(), "-----BEGIN AGE ENCRYPTED FILE-----") != sealed {
		t.Errorf("the state is stored locally, or in the wrong form in its backend:\n%.80s", p.kept())
	}
	p.want(ada, "ada@laptop", 0, "No changes.", "plan", "-detailed-exitcode")
	p.want(ada, "ada@laptop", 1, "It was applied already", "apply", "plan.kwplan")

	p.want(grace, "grace@desk", 0, "The state is kept at "+p.place.String(), "init")
	p.want(grace, "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
	p.want(grace, "grace@desk", 0, "cluster.", "state", "list")
	p.locked(grace)
	p.moves(grace, block, sealed)
	grace.replace(t, "maxPods = 110", "maxPods = 120")
	p.want(grace, "grace@desk", 2, "Plan: 0 to add", "plan", "-detailed-exitcode")
	p.want(grace, "grace@desk", 0, "Apply complete!", "apply", "-auto-approve")
	p.want(ada, "ada@laptop", 2, "Plan: 0 to add", "plan", "-detailed-exitcode") // this folder's configuration reverts the change
	p.want(ada, "ada@laptop", 0, "Destroy complete!", "destroy", "-auto-approve")
	p.want(grace, "grace@desk", 0, "is not locked", "lock", "status")
}

// backendOf matches the backend block of a configuration.
var backendOf = regexp.MustCompile(`(?s)\n  backend "[a-z0-9]+" \{.*?\}\n`)

// moves migrates the state from its backend to a file, and back.
func (p *placed) moves(f folder, block string, sealed bool) {
	t := p.t
	t.Helper()
	local, kept := backendOf.ReplaceAllString(block, "\n"), p.kept()
	f.replace(t, block, local)
	p.want(f, "grace@desk", 1, "Error: Backend has changed", "plan")
	p.want(f, "grace@desk", 0, "Copied the state to", "init", "-migrate-state", "-force-copy")
	p.want(f, "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
	if text, err := os.ReadFile(filepath.Join(string(f), "kubewright.state.json")); err != nil || !sealed && string(text) != kept {
		t.Errorf("%v: the file differs from the stored state:\n%.80s", err, text)
	}
	f.replace(t, local, block)
	p.want(f, "grace@desk", 0, p.place.String(), "init", "-migrate-state", "-force-copy")
	p.want(f, "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
}

// locked checks commands while another run holds the lock.
func (p *placed) locked(f folder) {
	t := p.t
	t.Helper()
	const id = "3f1c52a09e7b4d68"
	held, err := p.place.Lock(context.Background(), backendtest.Info(id))
	if err != nil {
		t.Fatal(err)
	}
	p.want(f, "grace@desk", 5, "Error: State is locked", "apply", "-auto-approve", "-detailed-exitcode")
	p.want(f, "grace@desk", 0, "is locked by apply of ann@"+id, "lock", "status")
	p.want(f, "grace@desk", 0, "No changes.", "plan", "-detailed-exitcode")
	p.want(f, "grace@desk", 1, "Another run holds the lock", "force-unlock", "-force", "42")
	if err := held.Release(context.Background()); err != nil {
		t.Error(err)
	}
	p.want(f, "grace@desk", 0, "No changes.", "apply", "-auto-approve")
}

// TestStateInS3 keeps a state in a bucket.
func TestStateInS3(t *testing.T) {
	t.Parallel()
	memory := s3mem.New()
	if err := memory.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(server.Close)
	place, err := s3.New(backend.Settings{
		"bucket": "states", "key": "prod.json", "endpoint": server.URL, "use_path_style": "true", "access_key": "AKTEST", "secret_key": "top-secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &placed{shared: &shared{t: t, world: mustOpen(t)}, place: place, environment: map[string]string{
		"KUBEWRIGHT_S3_ACCESS_KEY": "AKTEST", "KUBEWRIGHT_S3_SECRET_KEY": "top-secret",
	}}
	p.works(s3Block(server.URL), false)
}

// TestStateInKubernetes keeps a state, encrypted, in a Secret with a Lease.
func TestStateInKubernetes(t *testing.T) {
	t.Parallel()
	server := kubernetestest.New(t)
	kubeconfig := server.Kubeconfig(t, server.Token)
	place, err := kubernetes.New(backend.Settings{"secret_suffix": "prod", "config_path": kubeconfig}, kubernetes.Operator{})
	if err != nil {
		t.Fatal(err)
	}
	p := &placed{shared: &shared{t: t, world: mustOpen(t)}, place: place, environment: map[string]string{"KUBEWRIGHT_KUBERNETES_CONFIG_PATH": kubeconfig}}
	p.works(kubernetesBlock, true)
}
