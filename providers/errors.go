package providers

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of failure, tested with errors.Is. Each says what it means for the
// host and whether trying the same again can help; everything else that a
// host can make go wrong is a CommandError.
//
// What matters most to a caller is whether something may have happened on the
// host. Only ErrDisconnected and ErrTimeout leave that open: after them, observe.
var (
	// ErrUnreachable: no connection could be made; nothing was sent. A retry
	// helps when the cause is passing: a host that boots, a network that is
	// repaired, an sshd that drops connections because too many came at once.
	ErrUnreachable = errors.New("host unreachable")

	// ErrRefused: the host was reached, and nobody there listens at the address that it
	// was to connect to. It comes together with ErrUnreachable.
	ErrRefused = errors.New("connection refused")

	// ErrDisconnected: the connection was lost while something was under way.
	// What was under way may or may not have happened: observe, never repeat blind.
	ErrDisconnected = errors.New("connection lost")

	// ErrTimeout: the host did not answer within a deadline, or the API answered that
	// what it was to write has not come to an end there. Before a command was sent it is
	// like ErrUnreachable, afterwards like ErrDisconnected.
	ErrTimeout = errors.New("timed out")

	// ErrAuth: the host accepted none of the keys, or a key could not be used.
	// A retry does not help, and repeated ones get the operator's address
	// banned by sshd's PerSourcePenalties.
	ErrAuth = errors.New("authentication failed")

	// ErrHostKeyUnknown: nobody vouches for the host's key, and new keys are
	// not accepted. No credential was sent. A retry does not help: the key has
	// to be pinned, or put into known_hosts.
	ErrHostKeyUnknown = errors.New("host key unknown")

	// ErrHostKeyChanged: the host shows another key than the one known for it,
	// or a revoked one. No credential was sent. A retry does not help: it is
	// either another machine or somebody in between.
	ErrHostKeyChanged = errors.New("host key changed")

	// ErrSudo: logged in, but unable to become root; nothing was done. A retry
	// helps only after sudo was configured, or with another password.
	ErrSudo = errors.New("cannot become root")

	// ErrNoForwarding: sshd forbids forwarding (AllowTcpForwarding,
	// PermitOpen). A retry does not help; connect directly instead.
	ErrNoForwarding = errors.New("forwarding forbidden by the host")

	// ErrProtocol: the host answered something that cannot be understood, or
	// more than is accepted. A mutating request counts as ErrDisconnected then.
	// A retry rarely helps.
	ErrProtocol = errors.New("answer not understood")

	// ErrUnsupported: the host lacks something without which kubewright cannot
	// work there, such as a POSIX shell or GNU stat. A retry does not help.
	ErrUnsupported = errors.New("not supported by the host")

	// ErrSuperseded: the host has seen a higher run token: another run started
	// after this one. Nothing was done. This run has to stop.
	ErrSuperseded = errors.New("superseded by a later run")

	// ErrHeld: another run is at work on the cluster. Nothing was done. A retry
	// helps when that run has ended; the plan has to be made again then.
	ErrHeld = errors.New("another run is changing the cluster")

	// ErrMoved: a file or an object that is about to be overwritten is not as it
	// was when the plan was made. Nothing was done. A retry does not help: the
	// plan has to be made again, with what is there now.
	ErrMoved = errors.New("changed since the plan was made")

	// ErrBlocked: pods of a node could not be evicted in time. What was evicted
	// before is. A retry helps when what blocked it has been dealt with.
	ErrBlocked = errors.New("pods could not be evicted in time")

	// ErrUntrusted: somebody answered, and one of the two sides does not trust the
	// other's certificate. Who is there and how it is, is not known. A retry helps
	// only when the certificates are renewed meanwhile. It comes together with the
	// kind that says that nothing was served.
	ErrUntrusted = errors.New("not trusted")

	// ErrForeign: the host belongs to another state: the lineage that it
	// remembers is not the run's. Nothing was done. A retry does not help. This
	// run has to stop: another one has begun with the hosts that both have planned.
	ErrForeign = errors.New("host belongs to another state")
)

// Error is a failure of a known kind. It reads "cannot DO: CAUSE" and is, for
// errors.Is, both its Kind and everything its cause wraps.
type Error struct {
	Kind  error  // one of the kinds of this package
	Do    string // what was not possible, as verb and noun: "connect to 10.0.0.1:22"
	Cause error  // may be nil; the kind's own text stands for it then
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

// WithRemedy is an error with what to do about it, where its kind alone does not tell.
// It is the cause of an Error, or stands alone.
func WithRemedy(err error, remedy string) error { return &remediedError{err, remedy} }

// RemedyOf returns what an error says itself is to be done about it, or "".
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

// NotPulled is what is said of an image that a host's runtime could not pull, below
// the runtime's own words.
const NotPulled = "the host's runtime did not get it, in 5 tries. To do: see that the registry has this image, and that the runtime reaches it and is let in; " +
	"correct image_repository or the tag if it is another one; or bring the image in an archive, as docs/air-gapped.md says"

// CommandError says that a command ran on a host and failed. It has no kind:
// the command's exit code and words are all that is known.
type CommandError struct {
	Host     string   // address as the operator wrote it
	Command  string   // what was run, in words, without secrets: "start unit kubelet.service"
	ExitCode int      // 128 + n after signal n
	Stderr   []string // the last lines, already escaped by Sanitize
}

// Error returns one line; the caller that shows more than one takes Stderr.
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
