// Package minor writes what the tables of config/componentflag say about a minor version of
// Kubernetes: its flags, feature gates, the gates that need others, and closed sets of values, read
// from --help of its components and from the source of its module. What it cannot read it takes
// from the minor version before, and says so.
package minor
