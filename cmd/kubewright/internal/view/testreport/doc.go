// Package testreport is the JUnit XML that CI services show in their test tabs.
//
// It knows neither plans nor tests.
package testreport
