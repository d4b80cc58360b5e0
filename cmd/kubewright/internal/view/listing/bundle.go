package listing

import (
	"fmt"
	"io"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
)

// Bundle prints what happens to the files of a bundle, one line per file.
type Bundle struct {
	w     io.Writer
	count map[string]int
	err   error
}

// NewBundle returns a Bundle that prints to w.
func NewBundle(w io.Writer) *Bundle { return &Bundle{w: w, count: map[string]int{}} }

// Note prints a sentence about the whole bundle.
func (b *Bundle) Note(sentence string) {
	if _, err := fmt.Fprintln(b.w, sentence); b.err == nil {
		b.err = err
	}
}

// File prints what happened to a file: fetched, present, replaced, removed.
func (b *Bundle) File(name, what string) {
	b.count[what]++
	if _, err := fmt.Fprintf(b.w, "%-8s  %s\n", what, ui.Clean(name)); b.err == nil {
		b.err = err
	}
}

// Complete prints the last line.
func (b *Bundle) Complete(dir string) error {
	if b.err != nil {
		return b.err
	}
	fresh := b.count["fetched"] + b.count["replaced"]
	_, err := fmt.Fprintf(b.w, "\nBundle complete! %s: %d fetched, %d there before; all are as SHA256SUMS says.\n", ui.Clean(dir), fresh, b.count["present"])
	return err
}
