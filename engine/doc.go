// Package engine carries a plan out: it joins the executor, which knows steps, with the
// performer, which knows hosts, holds the leases of the clusters meanwhile, and evaluates
// the gates of each step on a fresh observation.
//
// It prints nothing and asks nothing: commands and tests use it in the same way.
package engine
