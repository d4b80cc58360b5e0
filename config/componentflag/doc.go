// Package componentflag knows what the components of each minor version of Kubernetes take: flags, their
// types and values, and feature gates, as data made from their source; and as rules, what they refuse of
// values that have the right type. The verdicts of the real components are the rules' oracle.
//
// It knows nothing of configurations: config decides what to say.
package componentflag
