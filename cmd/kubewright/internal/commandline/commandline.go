// Package commandline spells remedies as commands of kubewright. It alone knows which command and
// which flag a remedy is.
package commandline

import (
	"strings"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/state"
)

// The flags that remedies name.
const (
	Replace           = "replace"
	AcceptNewHost     = "accept-new-host"
	ForgetUnreachable = "forget-unreachable"
	Target            = "target"
	Exclude           = "exclude"
	SkipPhase         = "skip-phase"
	AllowUnreachable  = "allow-unreachable"
	AllowOlderState   = "allow-older-state"
	Force             = "force"
	FromBackup        = "from-backup"
	State             = "state"
	Approve           = "approve"
)

var commands = map[remedy.Action]string{
	remedy.Apply: "apply", remedy.Plan: "plan", remedy.Destroy: "destroy", remedy.Import: "import", remedy.Uncordon: "uncordon",
	remedy.Restore: "etcd restore", remedy.Snapshot: "etcd snapshot", remedy.Members: "etcd status", remedy.Defragment: "etcd defragment",
	remedy.Forget: "state rm", remedy.List: "state list", remedy.Recover: "state recover",
}

var flags = map[remedy.Kind]string{
	remedy.Replace: Replace, remedy.Rotate: Replace, remedy.NewHost: AcceptNewHost, remedy.GoneHost: ForgetUnreachable,
	remedy.Only: Target, remedy.Except: Exclude, remedy.SkipPhase: SkipPhase, remedy.WithoutSilent: AllowUnreachable,
	remedy.OlderState: AllowOlderState, remedy.Overwrite: Force, remedy.Backup: FromBackup, remedy.State: State, remedy.Approve: Approve,
}

// Line returns the remedy as the user types it: a command with its flags and arguments, or the
// flags alone.
func Line(r remedy.Remedy) string {
	var words []string
	if r.Action != "" {
		words = append(words, "kubewright "+commands[r.Action])
	}
	for _, o := range r.Options {
		word := "-" + flags[o.Kind]
		if o.Value != "" {
			word += "=" + state.ShellWord(o.Value)
		}
		words = append(words, word)
	}
	for _, on := range r.On {
		words = append(words, state.ShellWord(on))
	}
	return strings.Join(words, " ")
}

// Text returns a text with commands in place of its remedies.
func Text(text remedy.Text) string {
	spelled, _ := remedy.Spell(string(text), Line)
	return spelled
}

// Error returns an error whose text has commands in place of remedies.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text, found := remedy.Spell(err.Error(), Line); len(found) > 0 {
		return &spelled{err, text}
	}
	return err
}

// spelled is an error with another text.
type spelled struct {
	error
	text string
}

func (e *spelled) Error() string { return e.text }
func (e *spelled) Unwrap() error { return e.error }
