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

// shownText is text that means something to whoever reads a plan in one of its forms.
const shownText = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\\n```\\n::error::x\\n##vso[task.complete]x\\n" +
	"[x](javascript:alert(1)) @everyone ]]> --> %} \\\"]; end; click A href \\\"javascript:alert(1)\\\"\\n"

// foreign are texts that no form of a plan may have as they are.
var foreign = []string{"<script>alert", "<img src=x", "onerror=alert(1)>", "</pre></script>"}

// asForm returns an attack on who reads a plan. check is what else its form has to be.
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

// withoutMarkup checks that a page has none of the markup of a text in it.
func withoutMarkup(a *arena, text string) {
	a.Helper()
	for _, f := range foreign {
		if strings.Contains(text, f) {
			a.Errorf("the page has %q", f)
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

// fenced checks that a text in Markdown stands between fences longer than any in it.
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
			a.Errorf("outside of every fence: %q", line)
		}
	}
}

// wellFormed checks that a text is XML to its end.
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
				a.Error("the graph leads to a script")
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

// operatorAttacks are on what the operator's machine does around a run.
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

// permissive checks that only the operator can read what a run leaves, whatever the umask is.
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
		a.Errorf("%d files: the attack misses its aim", n)
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
		a.Error("a core dump would have the keys in it")
	}
	a.must(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	if _ = cmd.Wait(); ctx.Err() != nil {
		a.Errorf("it has not ended %v after two interrupts", a.bound)
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

// crowded has several applies begin at once: one state comes of it.
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
		a.Errorf("%d have succeeded, and the next plan has the exit code %d\n%s", done.Load(), o.code, clip(o.stdout))
	}
}

// fetches has a host fetch something from itself, which only whoever is on it may.
func fetches(a *arena) {
	var asked atomic.Int64
	address := a.serve(func() { asked.Add(1) })
	a.write("k.asc", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n")
	text := strings.Replace(oneHost, "  network {", "  install {\n    packages {\n      repository = \"http://"+address+"/secret\"\n      key = file(\"k.asc\")\n    }\n  }\n  network {", 1)
	a.configure(text, &hostile{})
	a.kubewright("plan", "-input=false")
	if asked.Load() > 0 {
		a.Error("a host was sent to an address of its own by a plan")
	}
}

// namesAddress has a host say where its API is, and forbid to connect through it.
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
		a.Error("the operator's machine was sent to an address by a host")
	}
}

// downgraded puts a state that anybody can write in the place of an encrypted one.
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
		a.Error("the state is not encrypted: the attack misses its aim")
	}
	a.write(stateFile, a.kubewright("state", "pull", "-decrypt").stdout)
	a.refused(a.kubewright(args...))
}

// replayed puts an older state in the place of the last one.
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

// neverJoins has a worker fail while it joins: no token is left that it could use.
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
