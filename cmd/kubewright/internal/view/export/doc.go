// Package export prints a plan in its forms for readers outside of the terminal: Markdown,
// an HTML page, JUnit XML, annotations of a workflow, and by their names the others.
//
// It does not decide what a plan says: package outline does, for all forms.
package export
