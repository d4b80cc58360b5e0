// Package diffview lays out changes: an item, its attributes, and what differs between two
// values of one, as lines with symbols.
//
// It handles one item at a time, without access to the plan around it.
package diffview
