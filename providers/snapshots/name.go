package snapshots

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Name is the information in the name of a snapshot's file.
type Name struct {
	// Cluster is the label of the cluster's block.
	Cluster string
	// Taken is when it was taken, in whole seconds.
	Taken time.Time
	// Revision is etcd's revision when the snapshot was begun; it holds that one or a later
	// one.
	Revision int64
	// EtcdID is the ID of the etcd cluster, in hex.
	EtcdID string
	// Sealed reports whether the file is encrypted.
	Sealed bool
}

const timeFormat = "20060102T150405Z"

var namePattern = regexp.MustCompile(`^(.+)-([0-9]{8}T[0-9]{6}Z)-r([0-9]+)-([0-9a-f]+)\.db(\.age)?$`)

// String returns the name of the file: prod-20260302T090000Z-r4711-cdf818194e3a8c32.db. The
// names of a cluster sort by time. That of an encrypted one ends in .db.age.
func (n Name) String() string {
	text := fmt.Sprintf("%s-%s-r%d-%s.db", n.Cluster, n.Taken.UTC().Format(timeFormat), n.Revision, n.EtcdID)
	if n.Sealed {
		text += ".age"
	}
	return text
}

// ParseName parses the output of String, also at the end of a path. It returns false for
// the name of any other file.
func ParseName(path string) (Name, bool) {
	m := namePattern.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return Name{}, false
	}
	taken, err := time.Parse(timeFormat, m[2])
	if err != nil {
		return Name{}, false
	}
	revision, err := strconv.ParseInt(m[3], 10, 64)
	return Name{Cluster: m[1], Taken: taken, Revision: revision, EtcdID: m[4], Sealed: m[5] != ""}, err == nil
}
