package logged_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/backend/http"
	"github.com/kubewright/kubewright/state/backend/http/httptestserver"
)

func noon() time.Time { return time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC) }

func newLog(level slog.Level, asJSON bool) (*logged.Log, *bytes.Buffer) {
	var b bytes.Buffer
	return logged.New(&b, logged.Options{Level: level, JSON: asJSON, Now: noon}), &b
}

// TestLevelsIncludeMoreSevere checks that a level has its own lines and those of the more severe levels.
func TestLevelsIncludeMoreSevere(t *testing.T) {
	t.Parallel()
	for i, name := range logged.Levels() {
		level, ok := logged.Level(strings.ToUpper(name))
		l, b := newLog(level, false)
		l.Error("x")
		l.Warn("x")
		l.Info("x")
		l.Debug("x")
		l.Trace("x")
		if n := strings.Count(b.String(), "\n"); !ok || n != i+1 || !strings.Contains(b.String(), "level="+strings.ToUpper(name)+" msg=x") {
			t.Errorf("%s: %v\n%s", name, ok, b)
		}
	}
	if _, ok := logged.Level("verbose"); ok {
		t.Error("an unknown level is accepted")
	}
}

// TestSecretsAreNotLogged checks that neither values of a secret type nor secrets known to the run
// are logged, wherever they are quoted.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	const canary = `canary-"b4ck" \ <tab>` + "\tend"
	for _, asJSON := range []bool{false, true} {
		l, b := newLog(logged.LevelTrace, asJSON)
		l.Trace("held", "secret", state.NewSecret([]byte(canary)), "value", state.SensitiveValue("config:x#y", "f1"),
			"map", map[string]state.Secret{"k": state.NewSecret([]byte(canary))})
		l.Hide(state.NewRedactor([]string{canary}))
		l.Warn("said "+canary, "text", "it was "+canary, "error", errors.New("refused: "+canary), "list", []string{canary})
		l.Info("proxy", "url", "http://ann:pa55word@proxy.example.com:3128")
		for _, part := range []string{"canary", "b4ck", "pa55word"} {
			if strings.Contains(b.String(), part) {
				t.Errorf("%q is shown (JSON: %v):\n%s", part, asJSON, b)
			}
		}
		if n := strings.Count(b.String(), "(sensitive value)"); n < 6 {
			t.Errorf("%d values are marked as sensitive:\n%s", n, b)
		}
	}
}

// TestControlCharactersAreEscaped checks that no control character reaches the terminal, no line looks like two,
// and no CI runner finds a command.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[31mred\x07\r\nlevel=ERROR msg=forged\u202egnp.\u009b1m\x7f\xff ##[error]no ::error::no"
	l, b := newLog(logged.LevelTrace, false)
	l.Error("::error::"+hostile, "text", hostile, "error", errors.New(hostile))
	if strings.ContainsAny(b.String(), "\x1b\x07\r\u202e\u009b\x7f") || strings.Count(b.String(), "\n") != 1 || strings.Contains(b.String(), "##[") || strings.HasPrefix(b.String(), "::") {
		t.Errorf("%q", b)
	}
	if !strings.Contains(b.String(), `text="a\x1b[31mred\a\r\nlevel=ERROR msg=forged\u202egnp.`) {
		t.Errorf("control characters are not visible: %s", b)
	}
	l, b = newLog(logged.LevelTrace, true)
	l.Error(hostile, "text", hostile, "error", errors.New(hostile))
	var line struct{ Msg, Text, Level string }
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || strings.ContainsAny(line.Text+line.Msg, "\x1b\x07\r\n\u202e") || line.Level != "ERROR" {
		t.Errorf("%v: %q", err, b)
	}
}

// TestWithoutLogNothingIsWrapped checks that without a log nothing is wrapped or written.
func TestWithoutLogNothingIsWrapped(t *testing.T) {
	t.Parallel()
	var l *logged.Log
	w := newWorld(t)
	h, err := l.Open("10.0.0.1", func() (providers.Host, error) { return w.Host("10.0.0.1"), nil })
	if _, ok := h.(*sim.Host); err != nil || !ok {
		t.Errorf("%T, %v", h, err)
	}
	if _, ok := l.Access(sim.Access{}).(sim.Access); !ok {
		t.Error("access is wrapped")
	}
	l.Event(executor.Event{})
	l.Hide(nil)
	l.Info("x")
}

func newWorld(t *testing.T) *sim.World {
	t.Helper()
	w, err := sim.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// inside is a host that wraps another one once more.
type inside struct{ providers.Host }

func (h inside) Unwrap() providers.Host { return h.Host }

// TestHostRequestsAreLogged checks that each request is logged before and after, with the host, and a failure
// with its cause; and that Unwrap returns the host itself.
func TestHostRequestsAreLogged(t *testing.T) {
	t.Parallel()
	l, b := newLog(logged.LevelTrace, false)
	w := newWorld(t)
	h, err := l.Open("10.0.0.1", func() (providers.Host, error) { return w.Host("10.0.0.1"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Observe(context.Background(), state.Query{Units: []string{"kubelet.service"}}); err != nil {
		t.Fatal(err)
	}
	_, err = h.DialContext(context.Background(), "tcp", "10.0.0.1:6443")
	if err == nil {
		t.Fatal("a simulated host forwards connections")
	}
	if _, err := l.Access(sim.Access{}).API(context.Background(), inside{h}, "10.0.0.1:6443"); err != nil {
		t.Errorf("Unwrap does not return the host: %v", err)
	}
	for _, want := range []string{
		`level=TRACE msg="asking host" host=10.0.0.1 for=observation`, `level=DEBUG msg="asked host" host=10.0.0.1 for=observation`, "duration=0s",
		`level=WARN msg="failed to ask host" host=10.0.0.1 for="way through" address=10.0.0.1:6443`, "error=",
		`level=DEBUG msg="asked API" api=10.0.0.1:6443 via=10.0.0.1 for=connection`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, b)
		}
	}
}

// TestBackendRequestsAreLogged checks that locks, reads and writes are logged, and each try of a request.
func TestBackendRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := httptestserver.New(t)
	place, err := http.New(backend.Settings{
		"address": s.URL, "lock_address": s.URL, "username": s.User, "password": s.Password,
		"update_method": "POST", "lock_method": "LOCK", "unlock_method": "UNLOCK", "retry_max": "2", "retry_wait_min": "0", "retry_wait_max": "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	l, b := newLog(logged.LevelTrace, false)
	kept, ctx := l.Backend(place), context.Background()
	held, err := kept.Lock(ctx, backendtest.Info("42"))
	if err != nil {
		t.Fatal(err)
	}
	s.Fail(503)
	if _, err := kept.Read(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(kept.Write(ctx, nil, backend.Object{Data: []byte(`{"secret":"in the state"}`), Serial: 7}), held.Confirm(ctx), held.Release(ctx)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"for=lock run=42", `msg="trying again" backend=` + s.URL + " method=GET try=2", "for=state bytes=0", `for="new state" serial=7 bytes=25`,
		`for="sign of life of the lock"`, `for="release of the lock"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, b)
		}
	}
	if strings.Contains(b.String(), s.Password) || strings.Contains(b.String(), "in the state") {
		t.Errorf("a secret is shown:\n%s", b)
	}
}

// TestRunProgressIsLogged checks the lines about the progress of a run.
func TestRunProgressIsLogged(t *testing.T) {
	t.Parallel()
	l, b := newLog(slog.LevelInfo, false)
	step, err := state.ParseAddress("node.worker/kubelet-start")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []executor.Kind{
		executor.KindRun, executor.KindStarted, executor.KindOp, executor.KindOpDone, executor.KindLog, executor.KindOutput, executor.KindHeartbeat, executor.KindDone,
		executor.KindFailed, executor.KindSkipped, executor.KindCancelled, executor.KindStopping, executor.KindFinished,
	} {
		l.Event(executor.Event{Kind: kind, Step: step, Seconds: 1.5, Summary: "said", Err: errors.New("no luck"), Cause: step})
	}
	want := `level=INFO msg="run begins" steps=0
level=INFO msg="step begins" step=node.worker/kubelet-start
level=INFO msg="step says" step=node.worker/kubelet-start text=said
level=INFO msg="step ended" step=node.worker/kubelet-start duration=1.5s
level=ERROR msg="step failed" step=node.worker/kubelet-start duration=1.5s error="no luck"
level=WARN msg="step skipped" step=node.worker/kubelet-start cause=node.worker/kubelet-start
level=WARN msg="step not begun" step=node.worker/kubelet-start
level=WARN msg="nothing new begins" why=said
level=INFO msg="run ended" duration=1.5s
`
	if got := strings.ReplaceAll(b.String(), "time=2026-03-02T12:00:00.000Z ", ""); got != want {
		t.Errorf("got\n%s", got)
	}
}
