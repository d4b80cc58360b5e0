// Package flagvalue has the types of flags that refuse what a flag of Go would take: a number below
// one, an empty name, a time without its unit.
package flagvalue

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/planfile"
)

// AtLeastOne is the value of a flag that takes a positive integer.
type AtLeastOne int

func (n *AtLeastOne) String() string { return strconv.Itoa(int(*n)) }

func (n *AtLeastOne) Type() string { return "int" }

func (n *AtLeastOne) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return errors.New("it takes a whole number from 1 on")
	}
	*n = AtLeastOne(v)
	return nil
}

// FileName is a flag that names a file to write: an empty value, from an unset shell variable,
// would silently write nothing.
type FileName string

func (n *FileName) String() string { return string(*n) }

func (n *FileName) Type() string { return "string" }

func (n *FileName) Set(s string) error {
	if s == "" {
		return errors.New("an empty name names no file: give one, or leave the flag out")
	}
	*n = FileName(s)
	return nil
}

// Digest is the value of -approve. An empty value is refused, and does not count as
// none: it comes from a script whose variable is not set, and beside -auto-approve any plan
// would be carried out. A prefix that is too short is not reported as another plan's digest: it
// may well be the beginning of this one's.
type Digest string

// Set implements pflag.Value.
func (d *Digest) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("an empty digest approves no plan: give the one that the plan ends with")
	}
	if n := utf8.RuneCountInString(s); n < planfile.ShortDigest {
		return fmt.Errorf("a digest of %d characters is too short to tell one plan from another: give the %d that the plan ends with", n, planfile.ShortDigest)
	}
	*d = Digest(s)
	return nil
}

// String implements pflag.Value.
func (d *Digest) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *Digest) Type() string { return "string" }

// DaysAndHours is a flag whose value is a time in days and hours: 45d, 36h, 1d12h.
type DaysAndHours time.Duration

var daysAndHours = regexp.MustCompile(`^(?:(\d{1,5})d)?(?:(\d{1,6})h)?$`)

// Set implements pflag.Value. A number without its unit is refused, as is no time at all: a value that
// comes from an unset variable would find nothing.
func (d *DaysAndHours) Set(s string) error {
	m := daysAndHours.FindStringSubmatch(s)
	if m == nil {
		return errors.New("a time in days and hours is needed, as in 45d, 36h or 1d12h")
	}
	days, _ := strconv.Atoi(m[1])
	hours, _ := strconv.Atoi(m[2])
	if *d = DaysAndHours(time.Duration(24*days+hours) * time.Hour); *d == 0 {
		return errors.New("this is no time: give one in days and hours, as in 45d, 36h or 1d12h")
	}
	return nil
}

// String implements pflag.Value.
func (d *DaysAndHours) String() string {
	if *d == 0 {
		return ""
	}
	return ui.DaysAndHours(time.Duration(*d))
}

// Type implements pflag.Value.
func (d *DaysAndHours) Type() string { return "time" }
