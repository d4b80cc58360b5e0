package providers

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of failure, tested with errors.Is. Each says what it means for the host and whether
// a retry can help; every other failure on a host is a CommandError.
//
// The main question for a caller is whether something may have happened on the host. Only
// ErrDisconnected and ErrTimeout leave that open: after them, observe.
var (
	// ErrUnreachable: no connection could be made; nothing was sent. A retry helps if the
	// cause is temporary: a booting host, a network outage, an sshd that drops connections
	// because too many arrive at once.
	ErrUnreachable = errors.New("host unreachable")

	// ErrRefused: the host was reached, but nothing listens at the address there. It comes
	// together with ErrUnreachable.
	ErrRefused = errors.New("connection refused")

	// ErrDisconnected: the connection was lost during an operation, which may or may not
	// have happened: observe, never repeat it blindly.
	ErrDisconnected = errors.New("connection lost")

	// ErrTimeout: the host did not answer within a deadline, or the API answered that a
	// write is still unfinished. Before a command is sent it means the same as
	// ErrUnreachable, afterwards the same as ErrDisconnected.
	ErrTimeout = errors.New("timed out")

	// ErrAuth: the host accepted none of the keys, or a key could not be used.
	// A retry does not help, and repeated ones get the operator's address
	// banned by sshd's PerSourcePenalties.
	ErrAuth = errors.New("authentication failed")

	// ErrHostKeyUnknown: no known_hosts entry or pin vouches for the host's key, and new
	// keys are not accepted. No credential was sent. A retry does not help: the key has to
	// be pinned, or added to known_hosts.
	ErrHostKeyUnknown = errors.New("host key unknown")

	// ErrHostKeyChanged: the host shows another key than its known one, or a revoked one.
	// No credential was sent. A retry does not help: it is either another machine or a man
	// in the middle.
	ErrHostKeyChanged = errors.New("host key changed")

	// ErrSudo: the login works, but it cannot become root; nothing was done. A retry helps
	// only after sudo is configured, or with another password.
	ErrSudo = errors.New("cannot become root")

	// ErrNoForwarding: sshd forbids forwarding (AllowTcpForwarding,
	// PermitOpen). A retry does not help; connect directly instead.
	ErrNoForwarding = errors.New("forwarding forbidden by the host")

	// ErrProtocol: the host's answer cannot be parsed, or exceeds a limit. A mutating
	// request then counts as ErrDisconnected. A retry rarely helps.
	ErrProtocol = errors.New("answer not understood")

	// ErrUnsupported: the host lacks something that kubewright needs there, such as a POSIX
	// shell or GNU stat. A retry does not help.
	ErrUnsupported = errors.New("not supported by the host")

	// ErrSuperseded: the host has seen a higher run token, so another run started after
	// this one. Nothing was done. This run has to stop.
	ErrSuperseded = errors.New("superseded by a later run")

	// ErrHeld: another run is changing the cluster. Nothing was done. A retry helps after
	// that run has ended, with a new plan.
	ErrHeld = errors.New("another run is changing the cluster")

	// ErrMoved: a file or an object that is about to be overwritten has changed since the
	// plan was made. Nothing was done. A retry does not help: plan again.
	ErrMoved = errors.New("changed since the plan was made")

	// ErrBlocked: pods of a node could not be evicted in time. Pods evicted before that
	// stay evicted. A retry helps once the blocker is removed.
	ErrBlocked = errors.New("pods could not be evicted in time")

	// ErrUntrusted: the server answered, but one of the two sides does not trust the
	// other's certificate, so the server's identity and condition are unknown. A retry
	// helps only after the certificates are renewed. It comes together with the kind for
	// "nothing was served".
	ErrUntrusted = errors.New("not trusted")

	// ErrForeign: the host belongs to another state: the lineage that it remembers is not
	// the run's. Nothing was done. A retry does not help. This run has to stop: another one
	// has started to change hosts that are in both plans.
	ErrForeign = errors.New("host belongs to another state")
)

// Error is a failure of a known kind. It reads "cannot DO: CAUSE" and is, for
// errors.Is, both its Kind and everything its cause wraps.
type Error struct {
	Kind  error  // one of the kinds of this package
	Do    string // what failed, as verb and noun: "connect to 10.0.0.1:22"
	Cause error  // may be nil; then the kind's text takes its place
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("cannot %s: %v", e.Do, e.Kind)
	}
	return fmt.Sprintf("cannot %s: %v", e.Do, e.Cause)
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// WithRemedy adds to an error the remedy, where its kind alone does not imply one. The
// result is the cause of an Error, or stands alone.
func WithRemedy(err error, remedy string) error { return &remediedError{err, remedy} }

// RemedyOf returns the remedy that an error carries, or "".
func RemedyOf(err error) string {
	var e *remediedError
	if errors.As(err, &e) {
		return e.remedy
	}
	return ""
}

type remediedError struct {
	error
	remedy string
}

func (e *remediedError) Unwrap() error { return e.error }

// NotPulled is printed after the runtime's own error for an image that a host's runtime
// could not pull.
const NotPulled = "the host's runtime did not get it, in 5 tries. To do: see that the registry has this image, and that the runtime reaches it and is let in; " +
	"correct image_repository or the tag if it is another one; or bring the image in an archive, as docs/how-to/install-from-artifacts.md says"

// CommandError reports a command that ran on a host and failed. It has no kind: only the
// command's exit code and its output are known.
type CommandError struct {
	Host     string   // address as the operator wrote it
	Command  string   // what was run, in words, without secrets: "start unit kubelet.service"
	ExitCode int      // 128 + n after signal n
	Stderr   []string // the last lines, already escaped by Sanitize
}

// Error returns one line; a caller that prints more uses Stderr.
func (e *CommandError) Error() string {
	text := fmt.Sprintf("cannot %s: exit code %d", e.Command, e.ExitCode)
	if n := len(e.Stderr); n > 0 {
		text += ": " + e.Stderr[n-1]
	}
	return text
}

// Lines and bytes of a command's standard error that Tail keeps.
const (
	tailLines = 20
	tailWidth = 512
)

// Tail returns the last lines of what a host wrote, escaped, for
// CommandError.Stderr: at most 20 lines of at most 512 bytes, none of them blank.
func Tail(output []byte) []string {
	var lines []string
	for line := range strings.SplitSeq(string(output), "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			lines = append(lines, Sanitize(line, tailWidth))
		}
	}
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return lines
}

// Sanitize makes text from a host harmless for a terminal, a log or a state
// file. Control characters (C0 except newline and tab, DEL, C1), invalid
// UTF-8, and characters that reorder, hide or separate text (bidi controls and
// other format characters, U+2028, U+2029) become visible escapes such as
// \x1b or \u202e. The result has at most limit bytes, and says so when
// something was cut off; a limit of 0 or less means no limit.
func Sanitize(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		written := b.Len()
		writeEscaped(&b, r, s[i:i+size])
		if limit > 0 && b.Len() > limit {
			return cut(b.String()[:written], limit)
		}
		i += size
	}
	return b.String()
}

// cut marks escaped text as shortened, within limit bytes.
func cut(escaped string, limit int) string {
	const mark = "…"
	if limit < len(mark) {
		return ""
	}
	for len(escaped)+len(mark) > limit {
		_, size := utf8.DecodeLastRuneInString(escaped)
		escaped = escaped[:len(escaped)-size]
	}
	return escaped + mark
}

// writeEscaped appends r, or its escape. raw are the bytes r was read from.
func writeEscaped(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case r == '\n' || r == '\t':
		b.WriteRune(r)
	case r < 0x80 && unicode.IsControl(r):
		fmt.Fprintf(b, `\x%02x`, r)
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteString(raw)
	}
}
