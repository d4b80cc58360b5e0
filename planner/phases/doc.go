// Package phases holds what kubewright knows of Kubernetes: one file per phase,
// named as kubeadm names it, and their table.
//
// A phase says which items it wants for a configuration and the facts of a
// host, and chooses operations when observed items differ. Everything here is
// pure: no clock, files, network or goroutines; what a phase may know stands
// in a View. What kubeadm would write, byte for byte, is the business of
// planner/kubeadm.
//
// To add a phase: write a file with a phase literal, and name it in table.
package phases
