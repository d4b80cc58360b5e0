// Package jsonlines prints everything that a command has to say as one JSON object per line.
//
// It has no sentences of its own if the form for the terminal has them.
package jsonlines
