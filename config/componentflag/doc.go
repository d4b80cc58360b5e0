// Package componentflag knows what the components of each minor version of Kubernetes take: flags, their
// types and values, and feature gates, as data made from their source.
//
// It knows nothing of configurations, and decides nothing: config compares.
package componentflag
