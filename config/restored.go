package config

import "github.com/kubewright/kubewright/state"

// Restored is what a backup has for a cluster that is brought back from it on blank hosts.
type Restored struct {
	// Backup is the name of the backup; Snapshot the file with its snapshot of etcd, SHA256 its digest.
	Backup, Snapshot, SHA256 string
	// CA is the KeyDigest of the cluster's CA.
	CA string
	// Files are the certificates and keys of a control plane, by their paths.
	Files map[string]state.Secret
}

// RestoredPath returns the path of a file of the backup, for Reference.
func RestoredPath(p string) string { return state.JoinPath("restored", p) }
