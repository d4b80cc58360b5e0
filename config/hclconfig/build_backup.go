package hclconfig

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/hostfile"
)

const invalidBackup = "Invalid backup"

// addBackup adds to a cluster the files and units that a backup block stands for.
func addBackup(e *evaluator, b *block, c *config.Cluster) {
	a := e.one(b, "backup")
	if !a.written {
		return
	}
	at := func(of *block, name string) hcl.Range {
		if of.attrs[name].set() {
			return of.attrs[name].at
		}
		return of.at
	}
	if c.Etcd.External != nil {
		e.errorAt(a.at, invalidBackup, "A backup block is for an etcd on the control planes, and that of cluster %q is external: it is backed up where it runs. Remove the block.", c.Label)
		return
	}
	p := backup.Plan{Cluster: c.Label, Keep: e.number(a, "keep"), Recipients: e.strings(a, "recipients"), Folder: e.str(a, "folder"), Certificates: c.Certificates.Dir, EtcdData: c.Etcd.DataDir}
	if p.Keep < 1 {
		e.errorAt(at(a, "keep"), invalidBackup, "keep is %d. Write 1 or more.", p.Keep)
	}
	var err error
	if p.Schedule, err = backup.ParseSchedule(e.str(a, "schedule")); err != nil {
		e.errorAt(at(a, "schedule"), invalidBackup, "%s.", err)
	}
	s3 := e.one(a, "s3")
	switch {
	case !a.attrs["folder"].set() && !s3.written:
		e.errorAt(a.at, invalidBackup, "The block does not say where backups go. Write folder, a folder on the control planes, or s3 { … }, a bucket, or both.")
	case s3.written:
		p.S3 = bucket(e, s3)
	}
	checkBackupFolder(e, p, at(a, "folder"))
	c.Backup = &config.Backup{Period: p.Period, Folder: p.Folder, Bucket: p.S3.URL(), Keep: p.Keep, Recipients: p.Recipients, Source: source(a.at)}
	if d := (&config.Encryption{Recipients: p.Recipients, Source: source(at(a, "recipients"))}).Check(); a.attrs["recipients"].set() {
		e.add(d...)
	}
	to := composer{e: e, c: c, block: "backup"}
	to.file(backup.ScriptPath, backup.Script, false, a.at)
	to.file(backup.SettingsPath, p.Settings(), false, a.at)
	to.file(backup.RecipientsPath, p.RecipientsFile(), false, at(a, "recipients"))
	if s3.written {
		to.file(backup.S3Path, p.S3File(), true, s3.at)
	}
	if p.S3.CA != "" {
		to.file(backup.S3CAPath, p.S3.CA, false, at(s3, "ca"))
	}
	on := true
	to.unit(config.Unit{Name: backup.Service, Content: backup.ServiceUnit()}, a.at)
	to.unit(config.Unit{Name: backup.Timer, Content: p.TimerUnit(), Enabled: &on, Running: &on}, at(a, "schedule"))
}

// checkBackupFolder refuses a folder that is no place for backups.
func checkBackupFolder(e *evaluator, p backup.Plan, at hcl.Range) {
	switch why := (hostfile.Host{Certificates: p.Certificates, Etcd: p.EtcdData}).Refused(p.Folder); {
	case p.Folder == "":
	case !path.IsAbs(p.Folder) || path.Clean(p.Folder) != p.Folder || !folderForm.MatchString(p.Folder):
		e.errorAt(at, invalidBackup, "%q is no absolute path of letters, digits, /, _, - and dots. Write a folder such as \"/var/backups/kubewright\".", p.Folder)
	case why != "":
		e.errorAt(at, invalidBackup, "The folder %s %s. Choose another one, such as \"/var/backups/kubewright\".", p.Folder, why)
	case hostfile.Below(p.Folder, "/etc/kubernetes"):
		e.errorAt(at, invalidBackup, "The folder %s lies in /etc/kubernetes, which goes with the cluster. Choose another one, such as \"/var/backups/kubewright\".", p.Folder)
	}
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]+$`)
	folderForm = regexp.MustCompile(`^[A-Za-z0-9/_.-]*$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9/_.-]*$`)
)

// bucket builds the bucket of a backup block.
func bucket(e *evaluator, b *block) backup.S3 {
	s := backup.S3{
		Bucket: e.str(b, "bucket"), Region: e.str(b, "region"), Endpoint: e.str(b, "endpoint"), Prefix: e.str(b, "prefix"),
		AccessKey: e.str(b, "access_key"), SecretKey: e.str(b, "secret_key"), CA: e.str(b, "ca"),
	}
	for _, name := range []string{"access_key", "secret_key"} {
		if strings.ContainsAny(e.str(b, name), "\r\n\t\x00") {
			e.errorAt(b.attrs[name].at, invalidBackup, "%s has a line break or a tab. Remove it, as with trimspace(…).", name)
		}
	}
	if s.Bucket != "" && !bucketName.MatchString(s.Bucket) {
		e.errorAt(b.attrs["bucket"].at, invalidBackup, "%q is no name of a bucket: 3 to 63 lower-case letters, digits, - and dots.", s.Bucket)
	}
	if s.Region != "" && !regionName.MatchString(s.Region) {
		e.errorAt(b.attrs["region"].at, invalidBackup, "%q is no region. Write one such as \"eu-west-1\".", s.Region)
	}
	if !prefixForm.MatchString(s.Prefix) || strings.Contains("/"+s.Prefix+"/", "/../") || strings.Contains("/"+s.Prefix+"/", "/./") {
		e.errorAt(b.attrs["prefix"].at, invalidBackup, "%q is no prefix: letters, digits, /, _, - and dots.", s.Prefix)
	}
	if s.Endpoint != "" {
		u, err := url.Parse(s.Endpoint)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
			e.errorAt(b.attrs["endpoint"].at, invalidBackup, "%q is no URL of a server. Write one such as \"https://minio.example.com\".", s.Endpoint)
		}
	}
	return s
}
