package pipeline_test

import "os"

// long reports whether tests try all combinations, however long that takes. Otherwise they try some,
// the same each time.
func long() bool { return os.Getenv("KUBEWRIGHT_LONG") != "" }

// every returns a function that reports for one combination after another whether to try it: every
// n-th, beginning with the first, or all in the long form. Every element of each combined list is tried
// if n has no divisor in common with the length of any.
func every(n int) func() bool {
	at := -1
	return func() bool { at++; return long() || at%n == 0 }
}
