// Package statefile keeps the state on the operator's disk: the state file, the journal beside
// it, the lock, and older generations.
//
// The state file is one JSON document, sorted and indented, with a digest over its content. It is
// replaced atomically (temporary file, fsync, rename, fsync of the folder), so a reader sees
// either the old or the new state. The journal is appended and synced before and after every
// operation; the state at any moment is the fold of both.
//
// The order of a run: Acquire the lock, Load state and journal, OpenJournal, Reserve space,
// append while running, Fold, Save (which also empties the journal), release. After a crash the
// next Load finds in the journal what the state file lacks; folding twice does no harm.
//
// A file that is truncated, changed by hand, of another lineage or written by a newer kubewright
// is refused and left alone. Every error says what is wrong, where, why and what to do. The files
// hold no secret but the fingerprint key. Their mode is 0600 also because addresses and versions
// of hosts are not for other users.
package statefile
