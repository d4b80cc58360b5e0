// Package backend says what a place that keeps a state can do, whichever place
// that is: a file, a server that speaks the HTTP protocol of Terraform's
// states, an S3 bucket, a Secret of Kubernetes, a row of PostgreSQL.
//
// A backend moves bytes. What they say, whether they are encrypted, and what
// two states have to do with one another is known above it (package
// statefile), which tells it lineage and serial for labels and for people.
//
// Two things keep two runs apart. The lock says who is at work; every command
// that may write holds it from before it reads until it has written. And every
// write is conditional: it names what was read, and fails with ErrMoved when
// something else is there by now. A place that has no conditional writes (http)
// refuses a write under a lock that it does not know.
//
// No lock is taken over because time has passed: a holder that is silent may be
// a laptop that sleeps. It is taken over where it is certain that its process
// is gone (its connection or the lock of its file has ended, or it ran in this
// folder), and otherwise by ForceUnlock alone. A run whose lock was taken finds
// that out (ErrLost) before its next step, and its write is refused.
//
// backendtest has the conformance suite that every implementation passes.
package backend
