package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format is the format of the manifest that the script writes. A newer one is refused.
const Format = 1

// SnapshotFile is the snapshot of etcd in the archive, ManifestFile its manifest, FilesFolder the folder
// with the files of the control plane.
const (
	SnapshotFile = "snapshot.db"
	ManifestFile = "manifest.json"
	FilesFolder  = "files/"
)

// Manifest says what a backup holds.
type Manifest struct {
	Format  int    `json:"format"`
	Cluster string `json:"cluster"`
	// Node is the name of the host that took it.
	Node       string    `json:"node"`
	Time       time.Time `json:"time"`
	Kubernetes string    `json:"kubernetes"`
	Etcd       string    `json:"etcd"`
	// EtcdNumber is the ID of the etcd cluster, in decimal as etcdctl prints it.
	EtcdNumber string `json:"etcd_id"`
	Revision   int64  `json:"revision"`
	// CA is the SHA-256 of the file of the cluster's CA.
	CA         string   `json:"ca"`
	Recipients []string `json:"recipients"`
	// Before says before what a plan had it taken, as in "a member is removed"; empty for one of the
	// timer.
	Before string `json:"before,omitempty"`
	// Files are the SHA-256 of the snapshot, and of the files of the control plane by their paths without
	// the leading slash.
	Files map[string]string `json:"files"`
}

// EtcdID returns the ID of the etcd cluster as kubewright prints it.
func (m Manifest) EtcdID() string {
	n, err := strconv.ParseUint(m.EtcdNumber, 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 16)
}

// Holds returns in words what the backup holds.
func (m Manifest) Holds() []string {
	out := []string{"etcd"}
	has := func(suffix string) bool {
		for f := range m.Files {
			if strings.HasSuffix(f, suffix) {
				return true
			}
		}
		return false
	}
	if has("/ca.key") && has("/sa.key") {
		out = append(out, "PKI")
	} else {
		out = append(out, "PKI without CA keys")
	}
	if slices.ContainsFunc(m.Paths(), func(p string) bool {
		return !strings.HasSuffix(p, ".crt") && !strings.HasSuffix(p, ".key") && !strings.HasSuffix(p, ".pub")
	}) {
		out = append(out, "encryption keys")
	}
	return out
}

// Paths returns the sorted paths on a control plane of the files that it holds.
func (m Manifest) Paths() []string {
	var out []string
	for f := range m.Files {
		if f != SnapshotFile {
			out = append(out, "/"+f)
		}
	}
	slices.Sort(out)
	return out
}

// Description is what stands in plain text beside a backup.
type Description struct {
	Name     string   `json:"name"`
	Size     int64    `json:"size"`
	SHA256   string   `json:"sha256"`
	Manifest Manifest `json:"manifest"`
}

// Failure is why an attempt to take a backup failed.
type Failure struct {
	Time  time.Time `json:"time"`
	Error string    `json:"error"`
}

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9_.-]+\.tar\.age$`)
	digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// maxDescription bounds the line of a description, which comes from a host.
const maxDescription = 64 << 10

// ParseDescription parses the line beside a backup.
func ParseDescription(line []byte) (Description, error) {
	var d Description
	if len(line) > maxDescription {
		return d, errors.New("it is too large for the description of a backup")
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &d); err != nil {
		return d, fmt.Errorf("it is no description of a backup: %w", err)
	}
	if !nameForm.MatchString(d.Name) || !digestForm.MatchString(d.SHA256) || d.Size <= 0 {
		return d, errors.New("it is no description of a backup: name, size or digest is missing")
	}
	return d, d.Manifest.Check()
}

// ParseIndex parses the descriptions of a host, and leaves out lines that are none.
func ParseIndex(content []byte) []Description {
	var out []Description
	for line := range bytes.Lines(content) {
		if d, err := ParseDescription(line); err == nil {
			out = append(out, d)
		}
	}
	return out
}

// ParseFailure parses why an attempt failed; false if there is no such record.
func ParseFailure(content []byte) (Failure, bool) {
	var f Failure
	err := json.Unmarshal(bytes.TrimSpace(content), &f)
	return f, err == nil && !f.Time.IsZero() && f.Error != ""
}

// Check refuses a manifest that this version cannot use.
func (m Manifest) Check() error {
	switch {
	case m.Format == 0:
		return errors.New("its manifest is incomplete")
	case m.Format > Format:
		return fmt.Errorf("it has format %d, and this version of kubewright reads up to %d. Use a newer version", m.Format, Format)
	case m.Cluster == "" || m.Time.IsZero() || m.Files[SnapshotFile] == "":
		return errors.New("its manifest is incomplete")
	}
	for f, sum := range m.Files {
		if !digestForm.MatchString(sum) || f == "" || strings.HasPrefix(f, "/") || slices.Contains(strings.Split(f, "/"), "..") {
			return fmt.Errorf("its manifest has an invalid file %q", f)
		}
	}
	return nil
}
