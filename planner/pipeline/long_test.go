package pipeline_test

import "os"

// long reports whether tests try all that they can, however long that takes. Otherwise they
// try some of it, the same each time.
func long() bool { return os.Getenv("KUBEWRIGHT_LONG") != "" }

// every tells of combinations, asked of one after another, which are tried: each n-th
// from the first on, or all in the long form. All of each list that is combined come up
// where n has no divisor in common with the length of any.
func every(n int) func() bool {
	at := -1
	return func() bool { at++; return long() || at%n == 0 }
}
