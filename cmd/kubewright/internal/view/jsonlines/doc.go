// Package jsonlines prints everything that a command has to say as one JSON object per line.
//
// It may not have sentences of its own where a form for the terminal has them.
package jsonlines
