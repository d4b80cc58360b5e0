package view

import (
	"io"
	"strings"
)

// Generated says which file a plan has written for the clusters that it imports,
// of which keyless are the CAs whose key is not in them.
func Generated(w io.Writer, file string, keyless []string, supplied string, o Options) error {
	p := newPage(o)
	p.line()
	p.line(p.dim(strings.Repeat("─", p.width-1)))
	p.line()
	p.prose("Written " + Clean(file) + ", the configuration of what is imported. Read it, and change what you want otherwise, before you apply: the next plan uses it.")
	if err := p.flush(w); err != nil {
		return err
	}
	return Keyless(w, keyless, supplied, o)
}

// Keyless says what becomes of a cluster that is imported without the keys of CAs.
func Keyless(w io.Writer, cas []string, supplied string, o Options) error {
	if len(cas) == 0 {
		return nil
	}
	var names []string
	for _, ca := range cas {
		names = append(names, quote(Clean(ca)))
	}
	p := newPage(o)
	p.line()
	p.prose("The key of the CA " + strings.Join(names, ", ") + " is not in the cluster, so that nothing can be signed. What the hosts have holds until you put something new " +
		"into the folder " + supplied + ": before it ends, and for nodes that join. If you have the key, give it in the CA's block instead.")
	return p.flush(w)
}
