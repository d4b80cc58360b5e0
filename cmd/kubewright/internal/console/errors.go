package console

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
	klog "k8s.io/klog/v2"
)

// SilenceClientGo keeps client-go's own log from the terminal: its relevant messages are
// returned as errors, and reported once, where they belong.
var SilenceClientGo = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// UsageError is an invalid command line.
type UsageError struct {
	command string
	err     error
}

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Misuse returns the error of an invalid command line.
func Misuse(command string, err error) error { return &UsageError{command, err} }

// defectRemedy is what to do about a defect of kubewright.
const defectRemedy = "This is no mistake of yours. What was done before is recorded: the same command continues from there. " +
	"If it ends so again, report it with the command, the configuration without its secrets, and this text."

// Finding turns an error into a finding with a summary for its kind of failure.
func Finding(err error) *diag.Diagnostic {
	detail := Sentence(ui.CleanText(err.Error()))
	var usage *UsageError
	if errors.As(err, &usage) {
		// Flags are written with one dash, as in Terraform.
		detail = strings.ReplaceAll(detail, "--", "-")
		return diag.Errorf("Command line not understood", "%s", detail+"\n\nSee "+usage.command+" -help.")
	}
	for _, k := range []struct {
		kind    error
		summary string
	}{
		{kind: providers.ErrHeld, summary: "Cluster is being changed by another run"},
		{kind: providers.ErrSuperseded, summary: "Another run has taken over"},
		{kind: statefile.ErrLocked, summary: "State is locked"},
		{kind: backend.ErrLost, summary: "The lock was lost"},
		{kind: statefile.ErrDamaged, summary: "State cannot be trusted"},
		{kind: statefile.ErrNewer, summary: "State is of a newer kubewright"},
		{kind: statefile.ErrOccupied, summary: "State would be overwritten"},
		{kind: backend.ErrTooLarge, summary: "State is too large for its backend"},
		{kind: statefile.ErrForeign, summary: "State is of another lineage"},
		{kind: statefile.ErrMoved, summary: "State has changed meanwhile"},
		{kind: state.ErrPlain, summary: "State is not encrypted"},
		{kind: state.ErrSealed, summary: "State is encrypted"},
	} {
		if errors.Is(err, k.kind) {
			return diag.Errorf(k.summary, "%s", detail)
		}
	}
	switch {
	case errors.As(err, new(*statefile.Error)), errors.As(err, new(*backend.Error)):
		return diag.Errorf("State cannot be read or written", "%s", detail)
	case errors.As(err, new(*etcdError)):
		return diag.Errorf("Etcd does not answer", "%s", detail+" A member that was started without a quorum does not answer until there is one.")
	case errors.As(err, new(*outputError)):
		return diag.Errorf("Output cannot be written", "%s", detail)
	case errors.Is(err, ErrNoTerminal):
		return diag.Errorf("Approval is missing", "%s", detail)
	case errors.As(err, new(*executor.PanicError)):
		return diag.Errorf("Defect of kubewright", "%s %s", detail, defectRemedy)
	}
	return diag.Errorf("Command failed", "%s", detail)
}

// Sentence capitalizes a text and ends it with a full stop, unless the text ends with something
// to copy.
func Sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	lines := strings.Split(s, "\n")
	last := lines[len(lines)-1]
	if strings.HasPrefix(last, " ") || strings.HasPrefix(last, "\t") || strings.ContainsAny(last[len(last)-1:], ".!?:") {
		return s
	}
	return s + "."
}

// etcdError is why an etcd request failed.
type etcdError struct{ error }

// EtcdSilent returns the error of an etcd that does not answer.
func EtcdSilent(err error) error { return &etcdError{err} }

func (e *etcdError) Unwrap() error { return e.error }
