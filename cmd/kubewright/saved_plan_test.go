package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/providers/ssh/sshtest"
	"github.com/kubewright/kubewright/state"
)

// TestApplyRefusesPlanOfAnotherVersion checks that a plan made by another version is refused with both
// versions, before any host is observed.
func TestApplyRefusesPlanOfAnotherVersion(t *testing.T) {
	t.Parallel()
	f := changedFolder(t)
	f.must(t, "plan", "-out=plan.kwplan")
	path := filepath.Join(string(f), "plan.kwplan")
	saved, err := planfile.Read(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	saved.Plan.ToolVersion = "0.0.9"
	if err := planfile.Write(path, saved, nil); err != nil {
		t.Fatal(err)
	}
	before, world := stateOf(t, f), listing(t, f)
	code, out := f.run("apply", "plan.kwplan")
	want := "Error: Saved plan is stale It was made by kubewright 0.0.9, and this is " + console.Version + ". Nothing was changed. Plan again, and have that plan reviewed."
	if words := strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(out)), " "); code != 1 || words != want {
		t.Errorf("exit code %d, and the output is\n%s", code, out)
	}
	if stateOf(t, f) != before || listing(t, f) != world {
		t.Error("the refused plan changed something")
	}
	if _, out := f.run("show", "plan.kwplan"); !strings.Contains(out, "Plan: ") {
		t.Errorf("the plan can no longer be shown:\n%s", out)
	}
}

// keyOf returns the key of the state in a folder.
func keyOf(t *testing.T, f folder) state.Key {
	t.Helper()
	var st struct {
		Key string `json:"fingerprint_key"`
	}
	if err := json.Unmarshal([]byte(stateOf(t, f)), &st); err != nil || st.Key == "" {
		t.Fatalf("the state has no key: %v", err)
	}
	return state.NewKey(st.Key)
}

// TestApplyRefusesModifiedSavedPlan checks that a saved plan that was modified is refused,
// whether the modification affects a planned value or only the operations. Without the
// state's key the plan is not authentic; with it, the plan is stale, because it differs from
// what would be planned now.
func TestApplyRefusesModifiedSavedPlan(t *testing.T) {
	t.Parallel()
	from := changedFolder(t)
	from.must(t, "plan", "-out=plan.kwplan")
	for name, tt := range map[string]struct {
		change func(*planner.Plan)
		want   string
	}{
		"a value": {func(p *planner.Plan) {
			for i, c := range p.Changes {
				if strings.HasSuffix(c.Address.Item, "kube-apiserver.yaml") {
					p.Changes[i].Attributes[0].After = state.String("3650")
					return
				}
			}
			t.Fatal("the plan does not change the API server")
		}, "args.audit-log-maxage"},
		"an operation": {func(p *planner.Plan) {
			s := &p.Steps[0]
			s.Operations = append(s.Operations, planner.RemovePath{Path: "/var/lib/etcd"})
		}, "would be changed in another way"},
		"a step less": {func(p *planner.Plan) {
			p.Steps = p.Steps[:len(p.Steps)-1]
		}, "would be changed now as well"},
		"a gate": {func(p *planner.Plan) {
			for i := range p.Steps {
				p.Steps[i].Gates = nil
			}
		}, "the plan as a whole is another one"},
	} {
		f := from.copy(t)
		path := filepath.Join(string(f), "plan.kwplan")
		saved, err := planfile.Read(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(saved.Plan)
		before, world := stateOf(t, f), listing(t, f)
		for _, by := range []struct {
			key           state.Key
			summary, want string
		}{
			{state.Key{}, "Error: Saved plan is not authentic", "It has no authentication code"},
			{state.NewKey("another"), "Error: Saved plan is not authentic", "or changed since it was saved"},
			{keyOf(t, f), "Error: Saved plan is stale", tt.want},
		} {
			saved.Key = by.key
			if err := planfile.Write(path, saved, nil); err != nil {
				t.Fatal(err)
			}
			code, out := f.run("apply", "-detailed-exitcode", "plan.kwplan")
			if words := strings.Join(strings.Fields(out), " "); code != 4 || !strings.Contains(words, by.summary) || !strings.Contains(words, by.want) {
				t.Errorf("%s: exit code %d, want 4, %q and %q\n%s", name, code, by.summary, by.want, out)
			}
			if stateOf(t, f) != before || listing(t, f) != world {
				t.Errorf("%s: the refused plan changed something", name)
			}
		}
	}
}

// TestSavedPlanKeepsNonUTF8Content checks that file content that is not UTF-8 is stored in the saved
// plan unchanged: the digest stays the same, and the plan can be applied.
func TestSavedPlanKeepsNonUTF8Content(t *testing.T) {
	t.Parallel()
	from := foundedFolder(t)
	for file, shown := range map[string]string{
		"10.0.0.21:/etc/sysctl.d/99-kubewright.conf":              `"not UTF-8"`,
		"10.0.0.21:/var/lib/kubelet/config.yaml":                  `gr\xfc\xdfe`,
		"10.0.0.21:/var/lib/kubelet/kubeadm-flags.env":            `gr\\xfc\\xdfe`,
		"10.0.0.11:/etc/kubernetes/manifests/kube-apiserver.yaml": `gr\xfc\xdfe`,
	} {
		f := from.copy(t)
		host, path, _ := strings.Cut(file, ":")
		text := "# gr\xfc\xdfe\n"
		if strings.HasSuffix(path, ".env") {
			text = "KUBELET_KUBEADM_ARGS=--node-ip=gr\xfc\xdfe\n"
		}
		f.must(t, "sim", "edit", host, "file", path, "append", text)
		made := f.must(t, "plan", "-json")
		f.must(t, "plan", "-out=plan.kwplan")
		saved, err := planfile.Read(filepath.Join(string(f), "plan.kwplan"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if digest := planfile.Digest(saved.Plan); !strings.Contains(made, digest) {
			t.Errorf("%s: the digest of the saved plan is %s; the plan was\n%s", path, digest, made)
		}
		if out := f.must(t, "show", "plan.kwplan"); !strings.Contains(out, shown) {
			t.Errorf("%s: the plan does not show %s:\n%s", path, shown, out)
		}
		if code, out := f.run("apply", "plan.kwplan"); code != 0 {
			t.Errorf("%s: exit code %d\n%s", path, code, out)
		}
		if out := f.must(t, "plan"); !strings.Contains(out, "No changes.") {
			t.Errorf("%s: changes are left\n%s", path, out)
		}
	}
}

// TestEncryptedStateWithoutInput checks that with -input=false no command that reads the state
// asks for the passphrase of the key that decrypts it.
func TestEncryptedStateWithoutInput(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "")
	private, public := sshtest.ProtectedKeyFile(t)
	recipient := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	text := fmt.Sprintf("kubewright {\n  encryption {\n    recipients = [%q]\n  }\n}\n", recipient) + crashConfig
	if err := os.WriteFile(filepath.Join(string(f), "main.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	run := func(args ...string) (int, string) {
		env, printed := f.env(args...)
		env.Getenv = func(name string) string { return map[string]string{"KUBEWRIGHT_AGE_IDENTITY": private}[name] }
		env.Secret = func(context.Context, string) ([]byte, error) { asked++; return []byte(sshtest.Passphrase), nil }
		return cli.Main(env), printed()
	}
	if code, out := run("apply", "-auto-approve"); code != 0 || !bytes.HasPrefix([]byte(stateOf(t, f)), []byte("-----BEGIN AGE")) {
		t.Fatalf("exit code %d, or the state is not encrypted\n%s", code, out)
	}
	if code, out := run("plan", "-out=plan.kwplan"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, command := range [][]string{
		{"state", "list"},
		{"state", "show", "cluster.prod"},
		{"show"},
		{"show", "plan.kwplan"},
		{"output"},
		{"state", "pull", "-decrypt"},
		{"state", "mv", "node.worker", "node.other"},
		{"state", "rm", "-auto-approve", "node.worker"},
		{"plan"},
		{"graph"},
	} {
		asked = 0
		code, out := run(append(command, "-input=false")...)
		if asked > 0 || code != 1 || !strings.Contains(strings.Join(strings.Fields(out), " "), "passphrase") {
			t.Errorf("%v: exit code %d, asked %d times\n%s", command, code, asked, out)
		}
	}
	if code, out := run("state", "list"); asked != 1 || code != 0 {
		t.Errorf("exit code %d, asked %d times\n%s", code, asked, out)
	}
}
