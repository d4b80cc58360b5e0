package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/shell"
)

// saidWord is a harmless text. A plan with any other text in its place must do the same.
const saidWord = "zqwordqz"

// produced returns everything that a saved plan does, as its consumers parse it: the operations
// as data, each file by its format, each command by its words.
func (a *arena) produced(file string) any {
	a.Helper()
	var saved struct {
		Saved struct {
			Plan struct {
				Steps []struct {
					Operations planner.Operations `json:"operations"`
				} `json:"steps"`
			} `json:"plan"`
		} `json:"saved"`
	}
	a.must(json.Unmarshal([]byte(a.read(file)), &saved))
	var out []any
	for _, step := range saved.Saved.Plan.Steps {
		for _, op := range step.Operations {
			var data any
			b, err := json.Marshal(op)
			a.must(err)
			a.must(json.Unmarshal(b, &data))
			out = append(out, map[string]any{"operation": op.Op(), "data": a.understood(data), "sent": a.sentFor(op)})
		}
	}
	if len(out) == 0 {
		a.Error("the plan does nothing")
	}
	return out
}

// understood parses the texts in data that have a format, and leaves out digests.
func (a *arena) understood(data any) any {
	switch data := data.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range data {
			if k != "sha256" && k != "fingerprint" && !strings.HasSuffix(k, "digest") {
				out[k] = a.understood(v)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, v := range data {
			out = append(out, a.understood(v))
		}
		return out
	case string:
		if strings.Contains(data, "\n") {
			return a.document("", data)
		}
	}
	return data
}

// document returns the parsed content of a file.
func (a *arena) document(name, text string) any {
	a.Helper()
	switch {
	case strings.HasSuffix(name, ".env"):
		return a.environment(text)
	case strings.HasPrefix(name, "/etc/apt/"), strings.HasPrefix(name, "/etc/yum"), strings.HasPrefix(name, "/etc/sysctl.d/"), strings.HasPrefix(name, "/etc/systemd/"):
		return strings.Split(text, "\n")
	}
	var out any
	err := yaml.Unmarshal([]byte(text), &out)
	if err != nil && name != "" {
		a.Errorf("%s is no YAML: %v", name, err)
	}
	switch out.(type) {
	case map[string]any, []any:
		return a.understood(out)
	}
	return text // other multi-line text
}

// assignment matches a line of a systemd EnvironmentFile (systemd.exec(5)) in which only the
// quotes around the value are special characters.
var assignment = regexp.MustCompile(`^([A-Z_]+)="([^"\\\n\r]*)"$`)

// environment returns the variables of an EnvironmentFile, each as the words to which a unit's
// $NAME expands.
func (a *arena) environment(text string) any {
	a.Helper()
	out := map[string]any{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			a.Errorf("systemd does not read %q as it was written", line)
			continue
		}
		words := []any{}
		for _, w := range strings.Fields(m[2]) {
			words = append(words, w)
		}
		out[m[1]] = words
	}
	return out
}

// tap is a connection that records what is sent, and answers nothing.
type tap struct{ sent []byte }

func (p *tap) Exec(_ context.Context, _ string, stdin io.Reader, _, _ io.Writer) (int, error) {
	b, err := io.ReadAll(stdin)
	p.sent = append(p.sent, b...)
	return 1, err
}

func (*tap) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("nothing is there")
}

func (*tap) Close() error { return nil }

// sentFor returns what a host receives for an operation: the words of each command, and the
// content of each file. Operations of the API and of keys send nothing.
func (a *arena) sentFor(op planner.Operation) any {
	a.Helper()
	p := &tap{}
	if write, ok := op.(planner.WriteFile); ok && write.Content.Ref != "" {
		return nil
	}
	_, _ = shell.New("host", p, shell.Options{}).Perform(a.Context(), providers.Batch{Token: 1, Operations: []planner.Operation{op}})
	if len(p.sent) == 0 {
		return nil
	}
	out := map[string]any{}
	blocks := a.blocks(p.sent)
	out["words"] = a.words(blocks[1], blocks[2:])
	name := ""
	if write, ok := op.(planner.WriteFile); ok {
		name = path.Clean(write.Path)
	}
	for i, frame := range blocks[2:] {
		out[fmt.Sprintf("frame %d", i)] = a.document(name, frame)
	}
	return out
}

// blockHead matches the line before a block that a host receives.
var blockHead = regexp.MustCompile(`^kubewright-(?:script|frame) (\d+)\n`)

// blocks returns the scripts and frames that a host receives.
func (a *arena) blocks(sent []byte) []string {
	a.Helper()
	var out []string
	for len(sent) > 0 {
		m := blockHead.FindSubmatch(sent)
		var n int
		if m == nil || json.Unmarshal(m[1], &n) != nil || len(sent) < len(m[0])+n {
			a.Fatalf("no block of a script: %q", clip(string(sent)))
		}
		out = append(out, string(sent[len(m[0]):len(m[0])+n]))
		sent = sent[len(m[0])+n:]
	}
	if len(out) < 2 {
		a.Fatalf("%d blocks", len(out))
	}
	return out
}

// called matches the functions at the start of a script's lines.
var called = regexp.MustCompile(`(?m)^(kw_[a-z_]+)`)

// words returns the words of a script's calls, as the shell splits them. A frame's number stands
// for its digest.
func (a *arena) words(script string, frames []string) any {
	a.Helper()
	_, calls, found := strings.Cut(script, "\nkw_guard\n")
	calls, _, ended := strings.Cut(calls, "kw_flush || kw_fail\n")
	if !found || !ended {
		a.Fatalf("no operations in\n%s", clip(script))
	}
	var b strings.Builder
	b.WriteString("p() { for w do printf '%s\\0' \"$w\"; done; printf '\\001\\0'; }\n")
	names := map[string]bool{}
	for _, m := range called.FindAllStringSubmatch(calls, -1) {
		names[m[1]] = true
	}
	for name := range maps.Keys(names) {
		fmt.Fprintf(&b, "%s() { p %s \"$@\"; }\n", name, name)
	}
	b.WriteString(calls)
	cmd := exec.Command("/bin/sh", "-u")
	cmd.Stdin, cmd.Dir, cmd.Env = strings.NewReader(b.String()), a.outside, []string{"PATH=/nonexistent"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		a.Errorf("the shell cannot parse the calls: %v %s\n%s", err, errs.String(), clip(calls))
	}
	list := []any{}
	for _, w := range strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		for i, frame := range frames {
			if w == fmt.Sprintf("%x", sha256.Sum256([]byte(frame))) {
				w = fmt.Sprintf("digest of frame %d", i)
			}
		}
		list = append(list, w)
	}
	return list
}

// said returns data with another text in place of the harmless one.
func said(data any, text string) any {
	switch data := data.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range data {
			out[strings.ReplaceAll(k, saidWord, text)] = said(v, text)
		}
		return out
	case []any:
		out := []any{}
		for _, v := range data {
			out = append(out, said(v, text))
		}
		return out
	case string:
		return strings.ReplaceAll(data, saidWord, text)
	}
	return data
}

// differs returns the first place in which two values differ, or "".
func differs(place string, a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for k := range x {
				if d := differs(place+"."+k, x[k], y[k]); d != "" {
					return d
				}
			}
			for k := range y {
				if _, ok := x[k]; !ok {
					return fmt.Sprintf("%s.%s is %q", place, k, y[k])
				}
			}
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if d := differs(fmt.Sprintf("%s[%d]", place, i), x[i], y[i]); d != "" {
					return d
				}
			}
		}
	}
	return fmt.Sprintf("%s is %q, want %q", place, fmt.Sprint(b), fmt.Sprint(a))
}
