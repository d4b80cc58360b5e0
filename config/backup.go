package config

import (
	"time"

	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/state"
)

// BackupReports are the files of control planes in which the script of a backup reports: the last
// backup, why the last attempt failed, and the backups that are kept.
var BackupReports = []string{backup.LastPath, backup.FailedPath, backup.IndexPath}

// Backup says how often the control planes of a cluster take backups of it, and where they go.
type Backup struct {
	Period time.Duration
	// Folder is the folder on hosts, Bucket the address in a bucket; one of them may be empty.
	Folder, Bucket string
	Keep           int
	Recipients     []string // the public keys that a backup is encrypted to
	Source         state.Source
}
