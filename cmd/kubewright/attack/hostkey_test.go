package attack

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"
)

// otherKey is a host key that is not the host's.
const otherKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

// impostor returns an attack by a server in place of a host. known is the operator's known_hosts
// file: KEY stands for the impostor's key, PORT for its port. It holds if the operator sends
// nothing to the impostor.
func impostor(name, known string, crypto ssh.Config) attack {
	return attack{name: "host key: " + name, run: func(a *arena) { a.distrusts(known, crypto) }}
}

func (a *arena) distrusts(known string, crypto ssh.Config) {
	a.Helper()
	h := &hostile{crypto: crypto}
	text := strings.NewReplacer("    host_key = \"PIN\"\n", "", `private_key = "key"`, "private_key = \"key\"\n  known_hosts = [\"known\"]").Replace(oneHost)
	a.configure(text, h)
	a.write("known", strings.NewReplacer("KEY", h.pin(), "PORT", fmt.Sprint(h.port())).Replace(known)+"\n")
	a.refused(a.kubewright("plan", "-input=false"), "node.cp")
	if n := len(h.sent("")); n > 0 {
		a.Errorf("%d commands were run on an impostor's host", n)
	}
}

func hostKeyAttacks() []attack {
	const right = "[127.0.0.1]:PORT KEY"
	kex := func(names ...string) ssh.Config { return ssh.Config{KeyExchanges: names} }
	out := []attack{
		impostor("another one is known", "[127.0.0.1]:PORT "+otherKey, ssh.Config{}),
		impostor("none is known", "# nothing", ssh.Config{}),
		impostor("known for another port", "[127.0.0.1]:1 KEY", ssh.Config{}),
		impostor("known for another host", "[127.0.0.2]:PORT KEY", ssh.Config{}),
		impostor("known for all but this host", "*,!127.0.0.1,![127.0.0.1]:PORT KEY", ssh.Config{}),
		impostor("revoked", "@revoked [127.0.0.1]:PORT KEY\n"+right, ssh.Config{}),
		impostor("revoked everywhere", right+"\n@revoked * KEY", ssh.Config{}),
		impostor("of a CA, as a plain key", "@cert-authority [127.0.0.1]:PORT KEY", ssh.Config{}),
		impostor("in a comment", "# [127.0.0.1]:PORT KEY", ssh.Config{}),
		impostor("behind an unknown mark", "@trusted [127.0.0.1]:PORT KEY", ssh.Config{}),
		impostor("SHA-1 in the key exchange", right, kex("diffie-hellman-group14-sha1")),
		impostor("a group of 1024 bits", right, kex("diffie-hellman-group1-sha1")),
		impostor("CBC", right, ssh.Config{Ciphers: []string{"aes128-cbc"}}),
		impostor("RC4", right, ssh.Config{Ciphers: []string{"arcfour256"}}),
		impostor("a short MAC", right, ssh.Config{Ciphers: []string{"aes128-ctr"}, MACs: []string{"hmac-sha1-96"}}),
	}
	for i := range out {
		out[i].long = i != 0
	}
	return out
}

// unescaped matches text that HCL evaluates.
var unescaped = regexp.MustCompile(`(^|[^$%])[$%]\{`)

// imports returns an attack by a cluster that is imported; argument is a command line argument
// of one of its static pods.
func imports(name, argument string) attack {
	return attack{name: "import: " + name, run: func(a *arena) {
		a.quickstart()
		for _, host := range []string{"10.77.0.11", "10.77.0.12", "10.77.0.13", "10.77.0.21", "10.77.0.22"} {
			a.kubewright("sim", "edit", host, "foreign")
		}
		for _, host := range []string{"10.77.0.11", "10.77.0.12", "10.77.0.13"} {
			if o := a.kubewright("sim", "edit", host, "file", "/etc/kubernetes/manifests/kube-apiserver.yaml", "set-arg", "audit-log-path="+argument); o.code != 0 {
				a.Fatalf("exit code %d\n%s", o.code, o.stderr)
			}
		}
		a.must(os.Remove(a.path(stateFile)))
		a.must(os.Remove(a.path("main.hcl")))
		o := a.kubewright("import", "sim://10.77.0.11")
		if o.code != 0 {
			a.refused(o)
			return
		}
		if unescaped.MatchString(a.read("cluster.hcl")) {
			a.Errorf("what was imported is evaluated:\n%s", clip(a.read("cluster.hcl")))
		}
		if o := a.kubewright("plan", "-input=false", "-detailed-exitcode"); o.code != 0 || strings.Contains(o.text(), "root:") {
			a.Errorf("exit code %d: the imported configuration differs from the cluster\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
		}
	}}
}

func importAttacks() []attack {
	out := []attack{
		imports("interpolation", `/a${file("/etc/passwd")}`),
		imports("directive", `/a%{ for x in range(9) }x%{ endfor }`),
		imports("quotes", `/a" } } locals { x = "`),
		imports("heredoc", "/a<<EOT\nEOT\n}\noutput \"x\" { value = file(\"/etc/passwd\") }"),
		imports("backslashes", `/a\" \n \u202e \${x}`),
		imports("escapes", "/a\x1b[2J\u202e"),
	}
	for i := range out {
		out[i].long = true
	}
	return out
}
