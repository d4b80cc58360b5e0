package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// kubeconfigWith returns a kubeconfig with these additional lines in a user and a cluster.
func kubeconfigWith(user, cluster string) string {
	return `apiVersion: v1
kind: Config
current-context: c
contexts:
- name: c
  context: {cluster: k, user: u}
clusters:
- name: k
  cluster:
    insecure-skip-tls-verify: true
    ` + cluster + `
users:
- name: u
  user:
    ` + user + "\n"
}

// executes returns the lines of a user in a kubeconfig that run a command.
func executes(marker string) string {
	return fmt.Sprintf(`exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["-c", "id >> '%s'"], interactiveMode: Never}`, marker)
}

// tabbed are command lines that Tab completes.
var tabbed = []string{"__complete plan -target=", "__complete state show ", "__complete apply -replace=", "__complete output ", "__complete state rm "}

// readers are commands that change nothing.
var readers = []string{
	"plan -input=false", "show", "state list", "state pull", "output", "lock status", "init", "graph",
	"certificates", "kubeconfig", "validate", "fmt -check", "version", "status -input=false", "history",
}

func execAttacks() []attack {
	var out []attack
	for _, line := range slices.Concat(tabbed, readers) {
		out = append(out, attack{name: "kubeconfig of the configuration: " + line, long: line != tabbed[0] && line != readers[0], run: func(a *arena) {
			a.write("kc.yaml", kubeconfigWith(executes(a.marker()), "server: https://127.0.0.1:1"))
			a.write("main.hcl", "kubewright {\n  backend \"kubernetes\" {\n    secret_suffix = \"prod\"\n    config_path = \"kc.yaml\"\n  }\n}\n"+simulated)
			a.run(line)
		}})
	}
	for _, line := range []string{tabbed[0], readers[0]} {
		out = append(out, attack{name: "token file of another user: " + line, long: true, run: func(a *arena) {
			secret := filepath.Join(a.outside, "secret")
			a.must(os.WriteFile(secret, []byte("the-word-of-another-user"), 0o600))
			told := a.listen("the-word-of-another-user")
			a.write("kc.yaml", kubeconfigWith("tokenFile: "+secret, "server: http://"+told))
			a.write("main.hcl", "kubewright {\n  backend \"kubernetes\" {\n    secret_suffix = \"prod\"\n    config_path = \"kc.yaml\"\n  }\n}\n"+simulated)
			a.run(line)
		}})
		out = append(out, attack{name: "Tab contacts no backend: " + line, long: true, run: func(a *arena) {
			if line != tabbed[0] {
				return
			}
			var asked atomic.Int64
			address := a.serve(func() { asked.Add(1) })
			a.write("main.hcl", "kubewright {\n  backend \"http\" {\n    address = \"http://"+address+"/state\"\n  }\n}\n"+simulated)
			a.run(line)
			if asked.Load() > 0 {
				a.Error("completion has contacted an address of the configuration")
			}
		}})
	}
	return append(out, sshConfigAttacks()...)
}

// run runs a command line; its last word may be empty.
func (a *arena) run(line string) outcome {
	a.Helper()
	return a.kubewright(strings.Split(line, " ")...)
}

// sshConfigAttacks are lines of OpenSSH's configuration that run commands or read files.
func sshConfigAttacks() []attack {
	lines := map[string]string{
		"ProxyCommand":      "ProxyCommand sh -c 'id > MARKER'",
		"Match exec":        "Match exec \"id > MARKER\"",
		"KnownHostsCommand": "KnownHostsCommand /bin/sh -c 'id > MARKER'",
		"LocalCommand":      "PermitLocalCommand yes\n LocalCommand id > MARKER",
		"PKCS11Provider":    "PKCS11Provider MARKER",
		"SecurityKey":       "SecurityKeyProvider MARKER",
		"IdentityAgent":     "IdentityAgent MARKER",
		"Include":           "Include /dev/zero",
		"Include of itself": strings.Repeat("Include FOLDER/ssh_config\n", 20),
		"a line's length":   "User " + strings.Repeat("x", 1_000_000),
	}
	var out []attack
	for name, text := range lines {
		out = append(out, attack{name: "ssh_config: " + name, long: name != "ProxyCommand", run: func(a *arena) {
			a.write("ssh_config", "Host *\n "+strings.NewReplacer("MARKER", a.marker(), "FOLDER", a.dir).Replace(text)+"\n")
			config := strings.NewReplacer("PORT", "1", `private_key = "key"`, `ssh_config = "ssh_config"`, "    host_key = \"PIN\"\n", "").Replace(oneHost)
			a.write("main.hcl", config)
			a.refused(a.kubewright("plan", "-input=false"))
		}})
	}
	return out
}
