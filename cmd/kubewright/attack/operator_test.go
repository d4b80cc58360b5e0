package attack

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"filippo.io/age"
)

// shownText is markup or a command in each format of a plan.
const shownText = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\\n```\\n::error::x\\n##vso[task.complete]x\\n" +
	"[x](javascript:alert(1)) @everyone ]]> --> %} \\\"]; end; click A href \\\"javascript:alert(1)\\\"\\n"

// foreign are texts that must not appear unescaped in any format of a plan.
var foreign = []string{"<script>alert", "<img src=x", "onerror=alert(1)>", "</pre></script>"}

// asForm returns an attack on the reader of a plan; check checks the syntax of its format.
func asForm(name string, args []string, check func(*arena, string)) attack {
	return attack{name: name, run: func(a *arena) {
		a.write("main.hcl", slot{"", inCluster, "api_server {\n extra_env \"A\" { value = \"%s\" }\n arg \"audit-log-path\" { value = \"/a<script>alert(1)</script>\" }\n }"}.with(shownText)+
			"output \"o\" {\n  value = \""+shownText+"\"\n}\n")
		o := a.kubewright(args...)
		if o.code != 0 {
			a.Fatalf("exit code %d\n%s", o.code, clip(o.stderr))
		}
		if check != nil {
			check(a, o.stdout)
		}
	}}
}

// withoutMarkup checks that a page contains no markup from the text.
func withoutMarkup(a *arena, text string) {
	a.Helper()
	for _, f := range foreign {
		if strings.Contains(text, f) {
			a.Errorf("the page contains %q", f)
		}
	}
}

// withoutCommands checks that no line is a command for a CI service.
func withoutCommands(a *arena, text string) {
	a.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "::error::x") || strings.HasPrefix(line, "##vso[") {
			a.Errorf("a CI service would act on %q", line)
		}
	}
}

// fenced checks that the markup in a Markdown text is inside a fence, which no line of the text
// ends.
func fenced(a *arena, text string) {
	a.Helper()
	inside, fence := false, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		n := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case !inside && n >= 3:
			inside, fence = true, trimmed[:n]
		case inside && trimmed == fence:
			inside = false
		case !inside && (strings.Contains(line, "<script>") || strings.Contains(line, "@everyone")):
			a.Errorf("outside all fences: %q", line)
		}
	}
}

// wellFormed checks that the whole text is well-formed XML.
func wellFormed(a *arena, text string) {
	a.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			a.Fatal(err)
		}
	}
}

func jsonLines(a *arena, text string) {
	a.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			a.Fatal(err)
		}
	}
}

func formAttacks() []attack {
	plan := func(form string) []string { return []string{"plan", "-input=false", "-format=" + form} }
	graph := func(form string) []string { return []string{"graph", "-format=" + form} }
	out := []attack{
		asForm("plan as HTML", plan("html"), withoutMarkup),
		asForm("plan as Markdown", plan("markdown"), fenced),
		asForm("plan as JUnit", plan("junit"), wellFormed),
		asForm("plan as GitHub's commands", plan("github"), withoutCommands),
		asForm("plan as text", []string{"plan", "-input=false", "-full"}, withoutCommands),
		asForm("plan as JSON", plan("json"), jsonLines),
		asForm("graph as HTML", graph("html"), withoutMarkup),
		asForm("graph as Mermaid", graph("mermaid"), func(a *arena, text string) {
			if strings.Contains(text, "javascript:") {
				a.Error("the graph links to a script")
			}
		}),
		asForm("graph as DOT", graph("dot"), withoutCommands),
		asForm("graph as JSON", graph("json"), jsonLines),
	}
	for i := range out {
		out[i].long = i != 0
	}
	return out
}

// operatorAttacks are attacks on the operator's machine before, during and after a run.
func operatorAttacks() []attack {
	return []attack{
		{name: "files under umask 000", long: true, run: permissive},
		{name: "interrupts while a host is silent", run: interrupted},
		{name: "eight applies at once", long: true, run: crowded},
		{name: "packages' repository on the host itself", long: true, run: fetches},
		{name: "an address that a host names, where it forbids forwarding", long: true, run: namesAddress},
		{name: "plain state in the place of an encrypted one", long: true, run: func(a *arena) { a.downgraded("plan", "-input=false") }},
		{name: "plain state in the place of an encrypted one, apply", long: true, run: func(a *arena) { a.downgraded("apply", "-auto-approve") }},
		{name: "older state put back", long: true, run: replayed},
		{name: "a worker that never joins keeps no token", long: true, run: neverJoins},
	}
}

// permissive checks that only the operator can read the files of a run, whatever the umask is.
func permissive(a *arena) {
	a.quickstart()
	a.must(os.Remove(a.path(stateFile)))
	a.must(os.Remove(a.path(simFile)))
	a.env = append(a.env, "KUBEWRIGHT_LOG=trace", "KUBEWRIGHT_LOG_PATH="+a.path("log"))
	for _, args := range [][]string{{"plan", "-out=p.kwplan", "-json-into=p.json"}, {"apply", "-auto-approve"}, {"state", "pull"}} {
		ctx, cancel := context.WithTimeout(context.Background(), a.bound)
		defer cancel()
		cmd, _, stderr := a.command(ctx, args)
		cmd.Args = append([]string{"sh", "-c", `umask 000; exec "$0" "$@"`, cmd.Path}, args...)
		cmd.Path = "/bin/sh"
		if err := cmd.Run(); err != nil {
			a.Fatalf("%v: %v\n%s", args, err, clip(stderr.String()))
		}
	}
	n := 0
	a.must(filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			a.Errorf("%s has the mode %v", filepath.Base(path), info.Mode())
		}
		n++
		return err
	}))
	if n < 6 {
		a.Errorf("%d files: the attack misses its target", n)
	}
}

// interrupted checks that two interrupts end a run that waits for a host.
func interrupted(a *arena) {
	connected := make(chan struct{}, 100)
	h := &hostile{mute: true, before: func(s *stream) {
		connected <- struct{}{}
		_, _ = io.Copy(io.Discard, s.channel)
		select {}
	}}
	a.configure(oneHost, h)
	ctx, cancel := context.WithTimeout(context.Background(), a.bound)
	defer cancel()
	cmd, _, _ := a.command(ctx, []string{"plan", "-input=false"})
	a.must(cmd.Start())
	select {
	case <-connected:
	case <-ctx.Done():
		a.Fatal("the host was not observed")
	}
	if limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid)); err == nil && !noCore(string(limits)) {
		a.Error("a core dump would contain the keys")
	}
	a.must(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	if _ = cmd.Wait(); ctx.Err() != nil {
		a.Errorf("the run has not ended %v after two interrupts", a.bound)
	}
}

// noCore reports whether limits of a process, as Linux shows them, allow no core dump.
func noCore(limits string) bool {
	for line := range strings.Lines(limits) {
		if strings.HasPrefix(line, "Max core file size") {
			f := strings.Fields(line)
			return len(f) > 5 && f[4] == "0"
		}
	}
	return true
}

// crowded starts several applies at once: exactly one state must result.
func crowded(a *arena) {
	a.quickstart()
	a.differ(99)
	var group sync.WaitGroup
	var done atomic.Int64
	for range 8 {
		group.Go(func() {
			o := a.kubewright("apply", "-auto-approve")
			switch {
			case o.code == 0:
				done.Add(1)
			case !strings.Contains(o.text(), "State is locked") && !strings.Contains(o.text(), "run"):
				a.Errorf("exit code %d\n%s", o.code, clip(o.stderr))
			}
		})
	}
	group.Wait()
	if o := a.kubewright("plan", "-detailed-exitcode"); o.code != 0 || done.Load() == 0 {
		a.Errorf("%d applies succeeded, and the next plan has exit code %d\n%s", done.Load(), o.code, clip(o.stdout))
	}
}

// fetches configures a package repository at a loopback address, which plan must not make the
// host fetch.
func fetches(a *arena) {
	var asked atomic.Int64
	address := a.serve(func() { asked.Add(1) })
	a.write("k.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n")
	text := strings.Replace(oneHost, "  network {", "  install {\n    packages {\n      repository = \"http://"+address+"/secret\"\n      key = file(\"k.asc\")\n    }\n  }\n  network {", 1)
	a.configure(text, &hostile{})
	a.kubewright("plan", "-input=false")
	if asked.Load() > 0 {
		a.Error("plan made the host fetch a loopback address")
	}
}

// namesAddress has a host report its own API address, and refuse to forward connections.
func namesAddress(a *arena) {
	var asked atomic.Int64
	for _, form := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.0.0.1.", "0.0.0.0"} {
		address := a.serve(func() { asked.Add(1) })
		port := address[strings.LastIndex(address, ":"):]
		(&controlPlane{server: "https://" + form + port}).found(a)
		a.kubewright("plan", "-input=false")
		a.kubewright("certificates")
	}
	if asked.Load() > 0 {
		a.Error("the operator's machine contacted an address that a host chose")
	}
}

// downgraded replaces an encrypted state with a plain one, which any user could have written.
func (a *arena) downgraded(args ...string) {
	a.Helper()
	id, err := age.GenerateX25519Identity()
	a.must(err)
	a.must(os.WriteFile(filepath.Join(a.outside, "identity"), []byte(id.String()+"\n"), 0o600))
	a.env = append(a.env, "KUBEWRIGHT_AGE_IDENTITY="+filepath.Join(a.outside, "identity"))
	a.write("main.hcl", fmt.Sprintf("kubewright {\n  encryption {\n    recipients = [%q]\n  }\n}\n", id.Recipient())+simulated)
	if o := a.kubewright("apply", "-auto-approve"); o.code != 0 {
		a.Fatalf("exit code %d\n%s", o.code, clip(o.stderr))
	}
	if strings.Contains(a.read(stateFile), `"lineage"`) && strings.Contains(a.read(stateFile), `"nodes"`) {
		a.Error("the state is not encrypted: the attack misses its target")
	}
	a.write(stateFile, a.kubewright("state", "pull", "-decrypt").stdout)
	a.refused(a.kubewright(args...))
}

// replayed replaces the last state with an older one.
func replayed(a *arena) {
	a.quickstart()
	before := a.read(stateFile)
	for i := range 2 {
		a.differ(90 + i)
		if o := a.kubewright("apply", "-auto-approve"); o.code != 0 {
			a.Fatalf("exit code %d\n%s", o.code, clip(o.stderr))
		}
	}
	a.write(stateFile, before)
	for _, args := range [][]string{{"plan", "-input=false"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}} {
		a.refused(a.kubewright(args...), "older")
	}
}

// neverJoins has a worker fail while it joins: no token that it could use may be left.
func neverJoins(a *arena) {
	a.quickstart()
	a.write("main.hcl", strings.Replace(a.read("main.hcl"), `    w2 = "10.77.0.22"`, "    w2 = \"10.77.0.22\"\n    w3 = \"10.77.0.23\"", 1))
	a.kubewright("sim", "edit", "10.77.0.23", "condition", "disk-full", "on")
	for range 3 {
		if o := a.kubewright("apply", "-auto-approve"); o.code != 1 {
			a.Errorf("exit code %d: the worker has joined\n%s", o.code, clip(o.stdout))
		}
		if strings.Contains(a.read(simFile), "Secret/kube-system/bootstrap-token-") {
			a.Error("a token of the join is left")
		}
	}
}
