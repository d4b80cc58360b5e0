package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/spf13/cobra"
)

// flags adds those by which a command is told that its plan is approved.
func flags(by *apply.Approval, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&by.Auto, "auto-approve", false, "do not ask")
	cmd.Flags().Var((*approvedDigest)(&by.Digest), "approve", "do not ask if the plan has this `digest`, and refuse any other")
}

// approvedDigest is the value of -approve. An empty one is refused, and does
// not count as none: it comes of a script in which nobody has set what is to stand
// there, and beside -auto-approve any plan would be carried out. One that is too short
// is not taken for another plan's: it may well be the beginning of this one's.
type approvedDigest string

// Set implements pflag.Value.
func (d *approvedDigest) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("an empty digest approves no plan: give the one that the plan ends with")
	}
	if n := utf8.RuneCountInString(s); n < planfile.ShortDigest {
		return fmt.Errorf("a digest of %d characters is too short to tell one plan from another: give the %d that the plan ends with", n, planfile.ShortDigest)
	}
	*d = approvedDigest(s)
	return nil
}

// String implements pflag.Value.
func (d *approvedDigest) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *approvedDigest) Type() string { return "string" }
