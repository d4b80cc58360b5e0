// Package diffview lays out changes: an item, its attributes, and what differs between two
// values of one, as lines with symbols.
//
// It sees one item at a time and may not ask for the plan around it.
package diffview
