// Package engine carries out a plan: it joins the executor, which knows steps, with the
// performer, which knows hosts, holds the leases of the clusters during the run, and evaluates
// the gates of each step on a fresh observation.
//
// It prints nothing and asks nothing: commands and tests use it in the same way.
package engine
