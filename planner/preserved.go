package planner

import (
	"crypto/sha256"
	"encoding/hex"
)

// Where a host keeps what Preserve found: copies of files at their paths below one folder, and records
// of everything else in another.
const (
	PreservedCopies  = "/var/lib/kubewright/before"
	PreservedRecords = "/var/lib/kubewright/was"
)

// PreservedID returns the name of the record of a path: a path may be longer than a name, and has
// slashes.
func PreservedID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])
}
