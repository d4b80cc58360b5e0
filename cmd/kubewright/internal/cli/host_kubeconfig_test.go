package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// counted is a server that accepts connections, sends nothing, and counts them.
type counted struct {
	address string
	seen    atomic.Int64
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c := &counted{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.seen.Add(1)
			_ = conn.Close()
		}
	}()
	return c
}

// foreignFolder returns a configuration from another author: a backend of a type, and hosts, at
// a server; and a kubeconfig that runs a program.
func foreignFolder(t *testing.T, typ string, server *counted, ran string) string {
	t.Helper()
	dir := t.TempDir()
	host, port, _ := strings.Cut(server.address, ":")
	settings := map[string]string{
		"kubernetes": `    secret_suffix = "prod"` + "\n    config_path = \"kc.yaml\"",
		"http":       fmt.Sprintf("    address = \"http://%s/state\"\n    lock_address = \"http://%[1]s/lock\"\n    retry_max = 0", server.address),
		"pg":         fmt.Sprintf("    conn_str = \"postgres://ann@%s/states?sslmode=disable\"", server.address),
		"s3":         fmt.Sprintf("    bucket = \"states\"\n    key = \"prod\"\n    endpoint = \"http://%s\"\n    use_path_style = true", server.address),
	}
	files := map[string]string{
		"main.hcl": fmt.Sprintf(`kubewright {
  backend %q {
%s
  }
}
variable "kubernetes_version" {
  type    = string
  default = "1.36.3"
}
cluster "demo" {
  kubernetes_version     = var.kubernetes_version
  control_plane_endpoint = %q
}
connection {
  user        = "root"
  host_key    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJJ0KpWDEWGdTn0yQ1u9ru5rpYJkgwvYhOO2cYuvnpOe"
  port        = %s
}
node "cp" {
  cluster = cluster.demo
  role    = "control-plane"
  address = %q
}
`, typ, settings[typ], server.address, port, host),
		"kc.yaml": fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
	"clusters": [{"name": "k", "cluster": {"server": "https://%s"}}],
	"users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", "touch %s; exit 1"], "interactiveMode": "Never"}}}],
	"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}`, server.address, ran),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// typed runs a command in a folder, without a terminal to answer questions.
func typed(dir string, stdin string, args ...string) (int, string) {
	var printed bytes.Buffer
	code := Main(&console.Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &printed, Stderr: &printed, Dir: dir,
		Getenv: func(string) string { return "" }, Size: func() (int, int) { return 0, 0 }, Now: time.Now, NewID: rand.Text, Who: "ada@laptop",
	})
	return code, printed.String()
}

// argumentsOf are the arguments that commands need to get as far as the state.
var argumentsOf = map[string][]string{
	"apply": {"-auto-approve"}, "destroy": {"-auto-approve"}, "force-unlock": {"-force", "42"}, "completion": {"bash"},
	"state show": {"node.cp"}, "state mv": {"node.cp", "node.dp"}, "state rm": {"node.cp"}, "state push": {"-force", "-"},
	"etcd restore": {"-auto-approve", "snapshot.db"}, "import": {"ssh://root@127.0.0.1:1"},
	"kubeconfig": {"-user=ann"}, "fmt": {"-check"}, "sim edit": {"127.0.0.1", "power off"}, "bundle": {"-out=artifacts", "1.36.3"},
	"cordon": {"cp"}, "drain": {"cp"}, "uncordon": {"cp"},
}

// asksTheBackend are the commands that read the state.
var asksTheBackend = []string{
	"apply", "certificates", "console", "cordon", "destroy", "doctor", "drain", "etcd backups", "etcd defragment", "etcd snapshot", "etcd status", "force-unlock", "graph", "history", "init", "kubeconfig", "lock status",
	"output", "plan", "show", "state decrypt", "state list", "state mv", "state pull", "state push", "state recover", "state rm", "state show", "status", "uncordon",
}

// TestConfiguredKubeconfigRunsNoProgram checks that no command runs the program that a kubeconfig
// beside the configuration names. Commands that read the state are refused, with the field
// named.
func TestConfiguredKubeconfigRunsNoProgram(t *testing.T) {
	t.Parallel()
	refused, said := map[string]bool{}, map[string]string{}
	for _, cmd := range everyCommand(commandLine()) {
		if !cmd.Runnable() || !cmd.HasParent() || cmd.Name() == "help" {
			continue
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "kubewright ")
		server, ran := newCounted(t), filepath.Join(t.TempDir(), "ran")
		dir := foreignFolder(t, "kubernetes", server, ran)
		args := append(strings.Fields(name), argumentsOf[name]...)
		for _, args := range [][]string{args, append([]string{cobra.ShellCompRequestCmd}, append(strings.Fields(name), "")...)} {
			code, printed := typed(dir, "1 + 1\n", args...)
			said[name] += printed
			if strings.Contains(strings.Join(strings.Fields(printed), " "), `users["u"].exec`) && code != 0 {
				refused[name] = true
			}
			if _, err := os.Stat(ran); err == nil {
				t.Fatalf("%v ran the program of the kubeconfig: %d\n%s", args, code, printed)
			}
			if n := server.seen.Load(); n > 0 {
				t.Errorf("%v opened %d connections:\n%s", args, n, printed)
			}
		}
	}
	for _, name := range asksTheBackend {
		if !refused[name] {
			t.Errorf("%s is not refused:\n%s", name, said[name])
		}
		delete(refused, name)
	}
	if len(refused) > 0 {
		t.Errorf("unexpectedly refused: %v", slices.Sorted(maps.Keys(refused)))
	}
}

// TestRecordedBackendKubeconfigIsNotTrusted checks that the file in which a folder remembers its backend is not
// trusted: another user may have written it, like a file that -backend-config names.
func TestRecordedBackendKubeconfigIsNotTrusted(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"remembered": {"state", "list"}, "migrated": {"init", "-migrate-state", "-force-copy"}, "a file": {"-backend-config=more.backend", "plan"},
	} {
		server, ran := newCounted(t), filepath.Join(t.TempDir(), "ran")
		dir := foreignFolder(t, "kubernetes", server, ran)
		remembered := fmt.Sprintf(`{"type": "kubernetes", "place": "secret default/kubewright-state-prod at https://%s", "settings": {"secret_suffix": "prod", "config_path": %q}}`, server.address, filepath.Join(dir, "kc.yaml"))
		main := map[string]string{
			"remembered": "cluster {", // which says nothing about the backend
			"migrated":   "", "a file": "kubewright {\n  backend \"kubernetes\" {\n    secret_suffix = \"prod\"\n  }\n}\n",
		}[name]
		err := errors.Join(os.Mkdir(filepath.Join(dir, ".kubewright"), 0o700), os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(main), 0o600),
			os.WriteFile(filepath.Join(dir, "more.backend"), []byte("config_path = \"kc.yaml\"\n"), 0o600))
		if name != "a file" {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, ".kubewright/backend.json"), []byte(remembered), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		code, printed := typed(dir, "", args...)
		if _, err := os.Stat(ran); err == nil || code == 0 || !strings.Contains(strings.Join(strings.Fields(printed), " "), `users["u"].exec`) {
			t.Errorf("%s: %v, code %d\n%s", name, err, code, printed)
		}
	}
}

// TestCompletionOpensNoConnection checks that completion opens no connection, wherever the state
// is.
func TestCompletionOpensNoConnection(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"http", "kubernetes", "pg", "s3"} {
		server, ran := newCounted(t), filepath.Join(t.TempDir(), "ran")
		dir := foreignFolder(t, typ, server, ran)
		tries := 0
		for _, cmd := range everyCommand(commandLine()) {
			path := strings.Fields(cmd.CommandPath())[1:]
			lines := [][]string{append(slices.Clone(path), "")}
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if _, completed := cmd.GetFlagCompletionFunc(f.Name); completed {
					lines = append(lines, append(slices.Clone(path), "-"+f.Name, ""), append(slices.Clone(path), "-"+f.Name+"="))
				}
			})
			for _, line := range lines {
				tries++
				if code, printed := typed(dir, "", append([]string{cobra.ShellCompRequestCmd}, line...)...); server.seen.Load() > 0 {
					t.Fatalf("%s: %q opened a connection: %d\n%s", typ, line, code, printed)
				}
			}
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: a program ran", typ)
		}
		if _, offered := typed(dir, "", cobra.ShellCompRequestCmd, "plan", "-target="); !strings.Contains(offered, "\nnode.cp\n") || tries < 50 {
			t.Errorf("%s: after %d attempts, nothing from the configuration is completed:\n%s", typ, tries, offered)
		}
	}
}
