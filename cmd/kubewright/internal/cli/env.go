package cli

import (
	"strings"
)

// oneDash lets long flags be written as in Terraform, with one dash: what
// begins with a single dash and has more than one letter is a long flag. A
// negative number is none.
func oneDash(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "--" {
			copy(out[i:], args[i:])
			break
		}
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2 && (a[1] < '0' || a[1] > '9') {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}
