package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// trap is something other than the file that the command expects.
type trap struct {
	name string
	// set creates it at a path.
	set func(a *arena, path string) error
}

var traps = []trap{
	{"link", func(a *arena, path string) error { return os.Symlink(a.victim("victim"), path) }},
	{"dangling link", func(a *arena, path string) error {
		target := filepath.Join(a.outside, "created")
		a.Cleanup(func() {
			if _, err := os.Lstat(target); err == nil {
				a.Error("the target of the link was created")
			}
		})
		return os.Symlink(target, path)
	}},
	{"FIFO", func(_ *arena, path string) error { return syscall.Mkfifo(path, 0o600) }},
	{"device", func(_ *arena, path string) error { return os.Symlink("/dev/zero", path) }},
	{"folder", func(_ *arena, path string) error { return os.Mkdir(path, 0o700) }},
}

// trapped returns an attack by a trap in place of a file of an applied folder.
func trapped(t trap, file string, args ...string) attack {
	return attack{name: fmt.Sprintf("%s as %s", t.name, file), run: func(a *arena) {
		a.quickstart()
		if err := os.Remove(a.path(file)); err != nil && !os.IsNotExist(err) {
			a.Fatal(err)
		}
		a.must(t.set(a, a.path(file)))
		a.kubewright(args...)
	}}
}

func linkAttacks() []attack {
	refresh := []string{"apply", "-refresh-only", "-auto-approve"}
	places := []struct {
		file string
		args []string
	}{
		{lockFile, refresh},
		{lockFile + ".info", refresh},
		{stateFile, refresh},
		{stateFile + ".backup", refresh},
		{journalFile, refresh},
		{simFile, refresh},
		{"kubewright.snapshots", refresh},
		{"out.kwplan", []string{"plan", "-out=out.kwplan"}},
		{"in.kwplan", []string{"apply", "in.kwplan"}},
		{"plan.json", []string{"plan", "-json-into=plan.json"}},
		{"other.hcl", []string{"fmt"}},
		{"values.kwvars", []string{"plan", "-var-file=values.kwvars"}},
		{"new.json", []string{"state", "push", "new.json"}},
	}
	var out []attack
	for _, p := range places {
		for _, t := range traps {
			attack := trapped(t, p.file, p.args...)
			attack.long = !strings.HasPrefix(p.file, lockFile) || t.name == "folder"
			attack.long = attack.long && (t.name != "link" || p.file == "values.kwvars")
			out = append(out, attack)
		}
	}
	for _, t := range traps {
		out = append(out, long(attack{name: t.name + " as the log", run: func(a *arena) {
			a.quickstart()
			a.must(t.set(a, a.path("log")))
			a.env = append(a.env, "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH="+a.path("log"))
			a.kubewright("plan", "-input=false")
		}}))
	}
	return append(append(out, keyAttacks()...), outsideAttacks()...)
}

// keyAttacks are traps in place of the files that a connection reads.
func keyAttacks() []attack {
	var out []attack
	for _, attribute := range []string{"private_key", "known_hosts", "certificate", "ssh_config"} {
		for _, t := range traps[2:] {
			out = append(out, attack{name: fmt.Sprintf("%s as %s", t.name, attribute), long: attribute != "ssh_config" || t.name != "device", run: func(a *arena) {
				a.must(t.set(a, a.path("trap")))
				text := strings.Replace(oneHost, `private_key = "key"`, attribute+` = "trap"`, 1)
				text = strings.NewReplacer("PORT", "1", "    host_key = \"PIN\"\n", "").Replace(text)
				a.write("main.hcl", text)
				a.refused(a.kubewright("plan", "-input=false"))
			}})
		}
	}
	return out
}

// outsideAttacks are configurations that read files outside their folder.
func outsideAttacks() []attack {
	const secret = "the-word-of-another-user"
	reads := map[string]string{
		"file of a parent":         `file("../outside/secret")`,
		"file by absolute path":    `file("OUTSIDE/secret")`,
		"file through a link":      `file("link")`,
		"file through a folder":    `file("linked/secret")`,
		"template through a link":  `templatefile("link", {})`,
		"digest through a link":    `filesha256("link")`,
		"fileset through a folder": `length(fileset("linked", "*")) == 0 ? file("link") : "found"`,
		"base64 through a link":    `filebase64("link")`,
		"device":                   `file("zero")`,
		"FIFO":                     `file("pipe")`,
	}
	var out []attack
	for name, expression := range reads {
		out = append(out, attack{name: "reads " + name, long: name != "file through a link", run: func(a *arena) {
			a.must(os.WriteFile(filepath.Join(a.outside, "secret"), []byte(secret), 0o600))
			a.must(os.Symlink(filepath.Join(a.outside, "secret"), a.path("link")))
			a.must(os.Symlink(a.outside, a.path("linked")))
			a.must(os.Symlink("/dev/zero", a.path("zero")))
			a.must(syscall.Mkfifo(a.path("pipe"), 0o600))
			a.write("main.hcl", simulated+"output \"o\" {\n  value = "+strings.ReplaceAll(expression, "OUTSIDE", a.outside)+"\n}\n")
			o := a.kubewright("plan", "-input=false")
			a.refused(o)
			if strings.Contains(o.text(), secret) {
				a.Error("the output contains the file's content")
			}
		}})
	}
	return out
}
