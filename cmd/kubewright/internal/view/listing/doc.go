// Package listing prints what commands list besides plans and states: certificates, members
// of etcd, the language of the configuration, and the files of a bundle.
//
// It may not know plans.
package listing
