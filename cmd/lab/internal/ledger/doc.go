// Package ledger remembers which end-to-end tests have passed, and decides which of them later code
// can affect. It reads the repository's source, and the coverage that the program under test has
// written while a test ran.
//
// It knows nothing of hosts or clusters, and runs no test.
package ledger
