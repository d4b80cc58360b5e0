// Package executor runs the steps of a plan: in dependency order, as many at
// once as the limits allow, journalled, reported as one stream of events, and
// stoppable. It knows steps and not hosts; a Runner performs them.
//
// One goroutine, that of Execute, owns the frontier, the journal and the event
// sink. Workers only run steps; they ask it to journal what they are about to
// do, and send it their completion. So there is no lock, events have one
// order, and a line of the journal is durable before the act it announces.
//
// A step starts as soon as its own needs are done and its limits allow; there
// are no barriers. When a step fails, what depends on it is skipped, and
// independent branches go on unless Options.OnError says stop. A step with Finally
// cleans up: it runs once the steps before it have ended, whatever became of them, and also when the
// run stops, unless none of them was begun. Nothing is
// retried and nothing is undone: after any end but a clean one the remedy is
// to observe, plan and run again.
package executor
