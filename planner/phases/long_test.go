package phases_test

import "os"

// long tells that tests try all that they can, however long that takes. Otherwise they
// try some of it, the same each time.
func long() bool { return os.Getenv("KUBEWRIGHT_LONG") != "" }

// every tells of combinations, asked of one after another, which are tried: each n-th, or
// all in the long form. Where n has no divisor in common with the length of any list that
// is combined, all of each list come up.
func every(n int) func() bool {
	at := 0
	return func() bool { at++; return long() || at%n == 0 }
}
