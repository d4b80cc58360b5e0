// Package quorum decides what may be done to the observed members of etcd: it refuses a step that
// would leave no majority of healthy voters, or that changes an etcd with an alarm.
//
// It only considers the members and the effect of one step on them, not the configuration or the
// rest of the plan.
package quorum
