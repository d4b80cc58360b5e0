package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
)

// The attacker is a worker of the applied quickstart.
const (
	lyingNode    = `node.worker["w1"]`
	lyingAddress = "10.77.0.21"
)

// liarVariable makes the command observe what a hostile worker reports about itself over SSH:
// its port, and its host key. The other hosts are simulated.
const liarVariable = "KUBEWRIGHT_ATTACK_LIAR"

// fleet copies the applied quickstart, with one hostile worker, into the folder.
func (a *arena) fleet(h *hostile) {
	a.Helper()
	a.quickstart()
	a.configure(a.read("main.hcl"), h)
	a.env = append(a.env, fmt.Sprintf("%s=%d %s", liarVariable, h.port(), h.pin()))
}

// overheard replaces a simulated host's facts with what a hostile host reports about itself.
func overheard(w *sim.World, from string) {
	port, pin, _ := strings.Cut(from, " ")
	w.OnObserve = func(ctx context.Context, host string) error {
		if host != lyingAddress {
			return nil
		}
		target := ssh.Target{Address: "127.0.0.1", User: "root", NoAgent: true, Config: os.DevNull, Keys: []string{"key"}, HostKeys: []string{pin}}
		target.Port, _ = strconv.Atoi(port)
		conn, err := new(ssh.Dialer).Dial(ctx, target)
		if err != nil {
			return err
		}
		seen := ssh.NewHost(conn, shell.Options{})
		defer func() { _ = seen.Close() }()
		report, err := seen.Observe(ctx, state.Query{})
		if err != nil {
			return err
		}
		if report.Marks == nil {
			report.Marks = &state.Marks{}
		}
		kept, err := json.Marshal(map[string]any{
			"marks": report.Marks, "token": report.Marks.Token, "lineage": report.Marks.Lineage,
			"unreadable": strings.TrimPrefix(report.Marks.Unreadable, "cannot read "),
		})
		if err != nil {
			return err
		}
		return w.SetMarksJSON(host, string(kept))
	}
}

// repaired restores on the worker's simulated host what kubewright had left there.
func (a *arena) repaired(k known) {
	a.Helper()
	a.env = slices.DeleteFunc(a.env, func(v string) bool { return strings.HasPrefix(v, liarVariable) })
	w, err := sim.Open(a.path(simFile))
	a.must(err)
	a.must(w.SetMarksJSON(lyingAddress, k.kept))
	a.must(w.Save())
}

// differ makes the configuration differ from every host.
func (a *arena) differ(pods int) {
	a.Helper()
	text := a.read("main.hcl")
	if i := strings.Index(text, "  kubelet {"); i >= 0 {
		text = text[:i] + text[i+strings.Index(text[i:], "\n")+1:]
	}
	a.write("main.hcl", strings.Replace(text, "cluster \"demo\" {\n", fmt.Sprintf("cluster \"demo\" {\n  kubelet { config = { maxPods = %d } }\n", pods), 1))
}

// known is what the state and the simulated hosts hold about the hostile worker.
type known struct {
	lineage string
	// kept is everything that kubewright has left on its host, marks the files of its own in that.
	kept  string
	marks map[string]any
}

func (a *arena) known() known {
	a.Helper()
	w, err := sim.Open(a.path(simFile))
	a.must(err)
	k := known{kept: w.MarksJSON(lyingAddress)}
	var left struct {
		Lineage string         `json:"lineage"`
		Marks   map[string]any `json:"marks"`
	}
	a.must(json.Unmarshal([]byte(k.kept), &left))
	k.lineage, k.marks = left.Lineage, left.Marks
	return k
}

// tokens returns the run tokens in the state and on all hosts except the hostile one.
func (a *arena) tokens() []json.Number {
	a.Helper()
	var state struct {
		Token json.Number `json:"run_token"`
	}
	a.must(json.Unmarshal([]byte(a.read(stateFile)), &state))
	var world struct {
		Hosts map[string]struct {
			Token json.Number `json:"token"`
			Marks struct {
				Token json.Number `json:"token"`
			} `json:"marks"`
		} `json:"hosts"`
	}
	a.must(json.Unmarshal([]byte(a.read(simFile)), &world))
	out := []json.Number{state.Token}
	for address, h := range world.Hosts {
		if address != lyingAddress {
			out = append(out, h.Token, h.Marks.Token)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lie is what a hostile worker reports about itself.
type lie struct {
	name string
	// files are the files on the host, by path.
	files func(known) map[string]string
	// blind means that nothing that the host reports can be used, unnoticed that the lie makes no
	// difference.
	blind, unnoticed bool
}

// These files identify a host.
const (
	marksPath = "/var/lib/kubewright/marks.json"
	tokenPath = "/var/lib/kubewright/token"
)

// tokenLie returns a host that reports a run token, with its right mark.
func tokenLie(name, token string) lie {
	return lie{name: name, files: func(k known) map[string]string {
		return map[string]string{tokenPath: strings.ReplaceAll(token, "LINEAGE", k.lineage), marksPath: marksText(k.marks, nil)}
	}}
}

// markLie returns a host whose mark differs from the right one.
func markLie(name string, change map[string]any) lie {
	return lie{name: name, files: func(k known) map[string]string {
		return map[string]string{tokenPath: "1 " + k.lineage + "\n", marksPath: marksText(k.marks, change)}
	}}
}

// rawMark returns a host whose mark is arbitrary text.
func rawMark(name, text string) lie {
	return lie{name: name, files: func(k known) map[string]string {
		return map[string]string{tokenPath: "1 " + k.lineage + "\n", marksPath: text}
	}}
}

func (l lie) blinding() lie {
	l.blind = true
	return l
}

func (l lie) idle() lie {
	l.unnoticed = true
	return l
}

func marksText(marks, change map[string]any) string {
	out := map[string]any{}
	for k, v := range marks {
		out[k] = v
	}
	for k, v := range change {
		out[k] = v
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// lies returns the lies by which one compromised worker can try to block changes to the others.
func lies() []lie {
	return []lie{
		tokenLie("run 2^63-2", "9223372036854775806 LINEAGE\n"),
		tokenLie("run 2^63-1", "9223372036854775807 LINEAGE\n"),
		tokenLie("run 2^63", "9223372036854775808 LINEAGE\n"),
		tokenLie("run of 100 digits", strings.Repeat("9", 100)+" LINEAGE\n"),
		tokenLie("run of a megabyte", strings.Repeat("9", 1<<20)+" LINEAGE\n").blinding(),
		tokenLie("run below zero", "-5 LINEAGE\n"),
		tokenLie("run that is no number", "1;reboot LINEAGE\n"),
		tokenLie("run with zeros in front", "0000000000000000000000000009 LINEAGE\n"),
		tokenLie("run with a plus", "+9 LINEAGE\n"),
		tokenLie("run in hexadecimal", "0x7fffffffffffffff LINEAGE\n"),
		tokenLie("run with escapes", "\x1b[2J9 LINEAGE\n"),
		tokenLie("no run", ""),
		tokenLie("run of another state", "9223372036854775806 another-lineage\n"),
		tokenLie("run beyond reach", "1000000 LINEAGE\n"),
		markLie("mark of another state", map[string]any{"lineage": "another-lineage"}),
		markLie("mark of another cluster", map[string]any{"cluster": "other"}),
		markLie("mark of a control plane", map[string]any{"node": `node.cp["cp1"]`, "founder": true}),
		markLie("mark of another worker", map[string]any{"node": `node.worker["w2"]`}),
		markLie("mark of a later version", map[string]any{"format": 99}),
		markLie("mark of another CA", map[string]any{"cluster_ca": strings.Repeat("0", 64)}).idle(),
		markLie("mark with escapes", map[string]any{"lineage": "\x1b[2J::error::x", "cluster": "\u202e\n::stop-commands::x"}),
		markLie("mark with a high run", map[string]any{"token": 9223372036854775806}).idle(),
		rawMark("mark that is no JSON", "\x1b[2J{{{{"),
		rawMark("mark nested deeply", strings.Repeat("[", 100_000)),
		rawMark("mark of a megabyte", `{"lineage": "`+strings.Repeat("x", 1<<20)+`"}`).blinding(),
		{name: "no mark", files: func(known) map[string]string { return nil }},
	}
}

// lyingAttacks are attacks by one worker on the management of all others. Each holds if the
// others are changed without it, nothing that it reports is recorded, and the whole fleet can be
// changed again after its host is repaired.
func lyingAttacks() []attack {
	var out []attack
	for _, l := range lies() {
		for _, way := range []string{"-exclude=" + lyingNode, `-target=node.worker["w2"]`, "-allow-unreachable"} {
			flag, _, _ := strings.Cut(way, "=")
			if l.blind && flag != "-allow-unreachable" {
				continue // same as a host that does not answer
			}
			name := l.name + ", " + flag
			out = append(out, attack{name: name, long: name != "run 2^63-2, -exclude", run: func(a *arena) { a.continues(l, way) }})
		}
	}
	return out
}

// continues changes the fleet next to a worker that lies.
func (a *arena) continues(l lie, way string) {
	a.Helper()
	h := &hostile{}
	a.fleet(h)
	k := a.known()
	h.changed = planted(l.files(k))
	o := a.kubewright("plan", "-input=false")
	if !l.unnoticed && !strings.Contains(o.text(), lyingNode) {
		a.Errorf("a plan does not mention %s\n%s%s", lyingNode, clip(o.stdout), clip(o.stderr))
	}
	a.differ(99)
	if o := a.kubewright("apply", "-auto-approve", way); o.code != 0 {
		a.Fatalf("exit code %d: one worker keeps the others from being changed\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
	}
	if got := fmt.Sprint(a.tokens()); got != "[1 2]" && got != "[2]" {
		a.Errorf("state and hosts hold the run tokens %s, want 2", got)
	}
	a.repaired(k)
	if o := a.kubewright("apply", "-auto-approve"); o.code != 0 {
		a.Fatalf("exit code %d after the host is repaired\n%s", o.code, clip(o.stderr))
	}
	o = a.kubewright("plan", "-detailed-exitcode")
	if o.code != 0 || strings.Contains(o.stdout, "Warning") {
		a.Errorf("exit code %d, traces of the lie are left\n%s%s", o.code, clip(o.stdout), clip(o.stderr))
	}
	for _, n := range a.tokens() {
		if len(n) > 1 {
			a.Errorf("run token %s is left", n)
		}
	}
}
