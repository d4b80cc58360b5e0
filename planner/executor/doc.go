// Package executor runs the steps of a plan: in dependency order, as many at once as the limits
// allow, journalled, reported as one stream of events, and stoppable. It knows steps, not hosts; a
// Runner performs them.
//
// One goroutine, the one that called Execute, owns the frontier, the journal and the event sink.
// Workers only run steps; they ask it to journal what they are about to do, and send it their
// completion. So there is no lock, events have one order, and a line of the journal is durable
// before the operation that it announces.
//
// A step starts as soon as its own needs are done and its limits allow; there are no barriers. When
// a step fails, the steps that depend on it are skipped, and independent branches continue unless
// Options.OnError says stop. A step with Finally cleans up: it runs once the steps before it have
// ended, whatever the outcome, and also when the run stops, unless none of them was begun. Nothing
// is retried and nothing is rolled back: after any end but a clean one the remedy is to plan and
// apply again.
package executor
