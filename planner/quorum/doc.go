// Package quorum says what may be done to the members of etcd as they are observed: a step
// that would leave no majority of healthy voters, or that touches an etcd with an alarm, is
// refused.
//
// It looks at members and at what one step does to them, and knows neither a configuration
// nor the rest of a plan.
package quorum
