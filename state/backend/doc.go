// Package backend defines the interface of a place that keeps a state: a file, a server with the
// HTTP protocol of Terraform's states, an S3 bucket, a Kubernetes Secret, a PostgreSQL row.
//
// A backend stores bytes. The layer above (package statefile) interprets them: their content,
// their encryption, and how two states are related. It passes lineage and serial down as labels
// for users.
//
// Two mechanisms keep two runs apart. The lock names the run at work; every command that may
// write holds it from before it reads until it has written. And every write is conditional: it
// names the version that was read, and fails with ErrMoved when another version is there by now.
// A place without conditional writes (http) refuses a write under a lock that it does not know.
//
// A lock never expires: a silent holder may be a laptop that sleeps. A lock is taken over where
// its process is certainly gone (its connection or its file lock has ended, or it ran in this
// folder), and otherwise only by ForceUnlock. A run whose lock was taken detects that (ErrLost)
// before its next step, and its write is refused.
//
// backendtest holds the conformance suite that every implementation passes.
package backend
