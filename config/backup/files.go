package backup

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Paths on control planes. What the script keeps lies in kubewright's own folder, which goes when the
// host is given back.
const (
	ScriptPath     = "/etc/kubernetes/backup/backup.sh"
	SettingsPath   = "/etc/kubernetes/backup/settings"
	RecipientsPath = "/etc/kubernetes/backup/recipients"
	S3Path         = "/etc/kubernetes/backup/s3"
	S3CAPath       = "/etc/kubernetes/backup/s3-ca.crt"

	Service = "kubewright-backup.service"
	Timer   = "kubewright-backup.timer"

	// LastPath is the description of the last backup that was taken on the host, FailedPath why the last
	// attempt failed, IndexPath the descriptions of the backups that are kept, the newest first.
	LastPath   = "/var/lib/kubewright/backup/last"
	FailedPath = "/var/lib/kubewright/backup/failed"
	IndexPath  = "/var/lib/kubewright/backup/index"
)

// Script takes a backup.
//
//go:embed backup.sh
var Script string

// Plan is a backup block.
type Plan struct {
	// Cluster is the label of the cluster.
	Cluster string
	Schedule
	// Keep is how many backups stay in the folder; of a bucket, how many a host lists.
	Keep int
	// Recipients are public keys of age, or SSH keys.
	Recipients []string
	// Folder is where backups go on the host; empty if they go into the bucket alone.
	Folder string
	S3     S3
	// Certificates and EtcdData are the folders of the cluster's certificates and of etcd's data.
	Certificates, EtcdData string
}

// S3 is a bucket, and a credential that can put objects into it.
type S3 struct {
	Bucket, Region, Endpoint, Prefix, AccessKey, SecretKey, CA string
}

// URL returns the address of what is in the bucket under the prefix.
func (s S3) URL() string {
	if s.Bucket == "" {
		return ""
	}
	base := "https://s3." + s.Region + ".amazonaws.com"
	if s.Endpoint != "" {
		base = strings.TrimSuffix(s.Endpoint, "/")
	}
	prefix := strings.Trim(s.Prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	return base + "/" + s.Bucket + "/" + prefix
}

// Settings returns the settings that the script reads.
func (p Plan) Settings() string {
	recipients, err := json.Marshal(p.Recipients)
	if err != nil {
		panic("internal error: recipients: " + err.Error()) // strings can be written
	}
	var b strings.Builder
	b.WriteString("# Written by kubewright for backup.sh.\n# shellcheck shell=sh disable=SC2034\n")
	for _, v := range []struct{ name, value string }{
		{"cluster", p.Cluster},
		{"pki", p.Certificates},
		{"etcd_data", p.EtcdData},
		{"folder", p.Folder},
		{"keep", fmt.Sprint(p.Keep)},
		{"s3_url", p.S3.URL()},
		{"s3_region", p.S3.Region},
		{"recipients", string(recipients)},
	} {
		fmt.Fprintf(&b, "%s=%s\n", v.name, quote(v.value))
	}
	return b.String()
}

// RecipientsFile returns the file of recipients for age.
func (p Plan) RecipientsFile() string { return strings.Join(p.Recipients, "\n") + "\n" }

// S3File returns the configuration of curl with the credential, which so stays out of its arguments.
func (p Plan) S3File() string {
	out := "user = \"" + curlText(p.S3.AccessKey+":"+p.S3.SecretKey) + "\"\n"
	if p.S3.CA != "" {
		out += "cacert = \"" + S3CAPath + "\"\n"
	}
	return out
}

// curlText escapes a text between quotes in a configuration of curl.
func curlText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}

// quote quotes a word for the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ServiceUnit returns the unit that runs the script.
func ServiceUnit() string {
	return `# Written by kubewright.
[Unit]
Description=Backup of this Kubernetes cluster
After=kubelet.service network-online.target
Wants=network-online.target

[Service]
Type=oneshot
ExecStart=/bin/sh ` + ScriptPath + `
Nice=10
IOSchedulingClass=idle
TimeoutStartSec=2h
`
}

// TimerUnit returns the unit that starts the service by the schedule. It is the same on every control
// plane, with no delay, so that all ask at the same moment which etcd leads.
func (p Plan) TimerUnit() string {
	return `# Written by kubewright.
[Unit]
Description=Backups of this Kubernetes cluster

[Timer]
OnCalendar=` + p.Calendar + `
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
`
}
