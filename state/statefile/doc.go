// Package statefile keeps the state on the operator's disk: the state file,
// the journal beside it, the lock, and older generations.
//
// The state file is one JSON document, sorted and indented, with a digest over
// its content. It is replaced whole (temporary file, fsync, rename, fsync of
// the folder), so that a reader sees the old or the new state and nothing
// else. The journal is appended and synced before and after every operation;
// what is true of the state at any moment is the fold of both.
//
// The order of a run: Acquire the lock, Load state and journal, OpenJournal,
// Reserve space, append while running, Fold, Save (which also empties the
// journal), release. After a crash the next Load finds in the journal what the
// state file does not have yet; folding twice does no harm.
//
// A file that is cut, changed by hand, of another lineage or written by a
// newer kubewright is refused and left alone. Every error says what is wrong,
// where, why and what to do. Nothing here is a secret, yet files are 0600:
// addresses and versions of hosts are nobody else's business.
package statefile
