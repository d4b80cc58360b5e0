// Package viewtest has plans, runs and golden files for the tests of the packages beside it.
//
// Only tests may import it.
package viewtest
