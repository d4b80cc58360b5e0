// Package listing prints what commands list besides plans and states: etcd members,
// certificates, the configuration language, and the files of a bundle.
//
// It does not depend on plans.
package listing
