package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// quiet keeps what client-go logs of its own from the terminal: what matters of
// it comes back as an error, and is told once, in the place where it belongs.
var quiet = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// usageError is a command line that cannot be understood.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// takes checks the number of arguments; most is negative when there is no bound.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return &usageError{cmd.CommandPath(), fmt.Errorf("something is missing: %s", cmd.UseLine())}
		case most >= 0 && len(args) > most:
			return &usageError{cmd.CommandPath(), fmt.Errorf("%q is one argument too many: %s", args[most], cmd.UseLine())}
		}
		return nil
	}
}

// elsewhere says of commands of Terraform's what there is here instead.
var elsewhere = map[string]string{
	"get":       "There are no modules: a folder is one configuration",
	"providers": "There are no plugins: hosts are reached as connection blocks say",
	"refresh":   "What is there is looked at by every plan. kubewright apply -refresh-only has the state learn it",
	"taint":     "A node is made anew with kubewright apply -replace=ADDRESS",
	"untaint":   "Nothing is marked beforehand: a node is made anew with kubewright apply -replace=ADDRESS",
	"workspace": "Another state is another folder, or another file with -state=FILE",
}

// group makes a command of one that only holds others: without one of them it
// prints its help, with one that does not exist it says so.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		text := fmt.Sprintf("there is no command %q below %s", args[0], cmd.CommandPath())
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		switch near := config.Nearest(args[0], names); {
		case !cmd.HasParent() && elsewhere[args[0]] != "":
			text += ". " + elsewhere[args[0]]
		case near != "":
			text += fmt.Sprintf(". Did you mean %q?", near)
		}
		return &usageError{cmd.CommandPath(), errors.New(text)}
	}
	return cmd
}

// defectRemedy is what to do about a fault of ours.
const defectRemedy = "This is no mistake of yours. What was done before is recorded: the same command goes on from there. " +
	"If it ends so again, report it with the command, the configuration without its secrets, and this text."

// explain turns an error into a finding whose heading says what kind of
// failure it is.
func explain(err error) *diag.Diagnostic {
	detail := sentence(ui.CleanText(err.Error()))
	var usage *usageError
	if errors.As(err, &usage) {
		// Flags are written here with one dash, as in Terraform.
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
		return diag.Errorf("Etcd does not answer", "%s", detail+" A member that was started without a quorum answers nobody until there is one.")
	case errors.As(err, new(*outputError)):
		return diag.Errorf("Output cannot be written", "%s", detail)
	case errors.Is(err, errNobody):
		return diag.Errorf("Approval is missing", "%s", detail)
	case errors.As(err, new(*executor.PanicError)):
		return diag.Errorf("Defect of kubewright", "%s %s", detail, defectRemedy)
	}
	return diag.Errorf("Command failed", "%s", detail)
}

// sentence begins with a capital and ends with a full stop, unless the text
// ends with something to copy.
func sentence(s string) string {
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
