package shell

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// TestOutputLinesArePassedOn checks that lines with a command's output are passed on and removed, in
// whatever parts they arrive; lines that only look similar stay.
func TestOutputLinesArePassedOn(t *testing.T) {
	t.Parallel()
	mark := marker(testNonce)
	raw := mark + "begin\n" + mark + "op 0\n" + mark + "heard 0 first line\n" + mark + "heard 0 second\n" +
		mark + "done changed\nkubewright OTHER heard 0 x\n" + mark + "heard 0 cut off"
	want := mark + "begin\n" + mark + "op 0\n" + mark + "done changed\nkubewright OTHER heard 0 x\n" + mark + "heard 0 cut off"
	for i := range len(raw) {
		for _, parts := range [][]string{{raw[:i], raw[i:]}, slices.Collect(slices.Values(strings.Split(raw, "")))} {
			var heard []string
			c := &collector{
				mark: mark, limit: performCap, hear: func(line string) { heard = append(heard, line) },
				hold: func(int) error { return nil }, stop: func(err error) { t.Error(err) },
			}
			for _, part := range parts {
				_, _ = c.Write([]byte(part))
			}
			if got := string(c.bytes()); got != want || !slices.Equal(heard, []string{"0 first line", "0 second"}) {
				t.Fatalf("%d: heard %q, left is %q", i, heard, got)
			}
			_, _ = c.Write([]byte("\n"))
			if len(heard) != 2 {
				t.Fatalf("heard %q after the end", heard)
			}
		}
	}
}

// TestOutputOfUnknownOperationIsDropped checks that lines for operations that do not exist are not passed on.
func TestOutputOfUnknownOperationIsDropped(t *testing.T) {
	t.Parallel()
	var heard []string
	b := providers.Batch{Operations: []planner.Operation{planner.Swap{}}, Hear: func(_ int, line string) { heard = append(heard, line) }}
	for _, said := range []string{"1 x", "-1 x", "x", "", "0", "0  \x1b[2K ", "0 a\x1b[32mb\x1b[0m\tc\u202e", "0 " + strings.Repeat("long ", 1000)} {
		hearing(b)(said)
	}
	if len(heard) != 2 || heard[0] != "ab\tc\\u202e" || len(heard[1]) > heardCap {
		t.Errorf("heard %q", heard)
	}
}

// TestOutputIsReportedOnlyToListener checks that a host reports a command's output only for operations of
// planner.Tells, and only if there is a listener.
func TestOutputIsReportedOnlyToListener(t *testing.T) {
	t.Parallel()
	pull := planner.LoadImage{Image: pulledImage, Socket: pullSocket}
	secret := planner.WriteFile{Path: "/etc/key", Mode: "0600", Content: planner.Content{Inline: "x"}}
	ops := []planner.Operation{pull, secret, planner.Unit{Unit: "kubelet.service", Action: "start"}}
	for _, hears := range []bool{true, false} {
		c := &compiler{batch: providers.Batch{Token: 1, Lineage: "l", Operations: ops}}
		if hears {
			c.batch.Hear = func(int, string) {}
		}
		body, err := c.script()
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(body, "kw_op '0' 'yes'\n"); told != hears || strings.Count(body, "' 'yes'\nkw_") > 1 {
			t.Errorf("heard: %v, tells: %v\n%s", hears, told, body)
		}
	}
}

// TestReportedCommandContinuesWithoutConnection checks that a command whose output is reported continues when the
// connection is lost, and that its operation completes.
func TestReportedCommandContinuesWithoutConnection(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	d.db("containerd 1.0-1 not-installed install")
	// After its second line of output it waits until its output was checked twice more. A
	// reporter that ends with the connection never does that, so the wait is bounded.
	slow := `#!/bin/sh
here=${0%/*}
case $* in *update*)
	echo 'Get:1 a repository'
	while ! [ -e "$here/go-on" ]; do sleep 0.02; done
	looks=$(($(wc -l <"$here/looks") + 2))
	echo 'Get:2 another'
	n=0
	while [ "$(wc -l <"$here/looks")" -lt "$looks" ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n + 1)); done ;;
esac
exec "$0.real" "$@"
`
	tail := "#!/bin/sh\necho look >>\"${0%/*}/looks\"\nexec /usr/bin/tail \"$@\"\n"
	for name, text := range map[string]string{"apt-get.real": fakeDebian["apt-get"], "apt-get": slow, "tail": tail} {
		hosttest.WriteProgram(t, d.bin+"/"+name, text)
	}
	op := planner.Packages{Manager: "apt", Repository: "/etc/apt/sources.list.d/kubernetes.list", List: []planner.Package{{Name: "tool"}}}
	c := &compiler{root: d.root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}, Hear: func(int, string) {}}}
	body, err := c.script()
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body+"kw_say end\n")
	sh.Env = []string{"PATH=" + d.bin + ":/usr/bin:/bin"}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.Stdout, sh.Stderr = w, w
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := bufio.NewScanner(r)
	for lines.Scan() && lines.Text() != "kubewright "+testNonce+" heard 0 Get:1 a repository" {
	}
	if err := errors.Join(lines.Err(), r.Close(), os.WriteFile(d.bin+"/go-on", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := sh.Wait(); err == nil {
		t.Error("the connection was lost, and the script still came to its end")
	}
	d.wantDB("containerd 1.0-1 not-installed install", "tool 1.0-1 installed install")
}

// TestReportedCommandExitCodeIsKnown checks that the exit code of a reported command is known even if the
// process that waits for its end is killed at that very moment.
func TestReportedCommandExitCodeIsKnown(t *testing.T) {
	t.Parallel()
	// Every other time, timeout expires just when its cat has read the input that it waited
	// for.
	const late = "if [ -e \"$ROOT/late\" ]; then rm \"$ROOT/late\"; exec /usr/bin/timeout \"$@\"; fi\n/bin/cat >/dev/null\n: >\"$ROOT/late\"\nexit 124\n"
	for name, tt := range map[string]struct{ client, want string }{
		"it did it":  {`case $* in *inspecti*) [ -e "$ROOT/has" ] ;; *) : >"$ROOT/has" ;; esac`, "done changed"},
		"it did not": {`case $* in *inspecti*) exit 1 ;; *) echo nobody has it >&2; exit 3 ;; esac`, "failed 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := swapRoot(t, map[string]string{"bin/crictl": tt.client + "\n", "bin/timeout": late})
			op := planner.LoadImage{Image: pulledImage, Socket: "unix:///run/crio/crio.sock", Policy: "IfNotPresent"}
			c := &compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}, Hear: func(int, string) {}}}
			body, err := c.script()
			if err != nil {
				t.Fatal(err)
			}
			if out := runSwap(t, root, body); !strings.Contains(out, tt.want) {
				t.Errorf("it does not say %q:\n%s", tt.want, out)
			}
		})
	}
}
