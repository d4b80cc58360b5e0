// Package testview prints the results of test files: as text, as JSON lines, and as a JUnit report.
//
// It carries nothing out.
package testview
