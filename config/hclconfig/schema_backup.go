package hclconfig

import "github.com/kubewright/kubewright/config/backup"

// backupBlock describes the backups that control planes take. It stands for the files and units that
// take them.
var backupBlock = &Block{
	Name: "backup", Doc: "Backups of the cluster, which its control planes take by themselves: of etcd, the certificates and keys, and the keys that API objects are encrypted with. A timer of systemd runs `" + backup.ScriptPath + "` on each control plane, and the one whose etcd leads takes the backup. A plan has one taken before a step that could lose data. It is encrypted with age there. The block stands for the `file` and `unit` blocks that would do the same, and excludes these.",
	Attributes: []Attribute{
		{Name: "schedule", Type: typeString, Default: "daily", NonEmpty: true, Cost: CostObject, Doc: "When: `hourly`, `daily`, `weekly`, an interval that divides a day or an hour evenly such as `6h` or `30m`, or a time such as `02:30` or `Sun 02:30`. In UTC."},
		{Name: "keep", Type: typeNumber, Default: 14, Cost: CostObject, Doc: "How many backups stay in `folder`: so many of the timer, and so many of those that plans have taken before a risk. From a bucket nothing is removed: set its lifecycle."},
		{Name: "recipients", Type: typeStrings, Required: true, Cost: CostObject, Doc: "Public keys that can decrypt a backup: `age1…` as `age-keygen` prints it, or `ssh-ed25519 AAAA…` and `ssh-rsa AAAA…`. Keep a private key where it survives the cluster."},
		{Name: "folder", Type: typeString, NonEmpty: true, Cost: CostObject, Doc: "A folder on the control planes for backups, best one that is mounted from elsewhere. It is made for root alone. At least one of `folder` and `s3` is needed."},
	},
	Blocks: []*Block{s3Block},
}

var s3Block = &Block{
	Name: "s3", Doc: "Backups go into a bucket of S3, or of a server with its API. Hosts need curl 7.88 or newer. One object has at most 5 GiB.",
	Attributes: []Attribute{
		{Name: "bucket", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "The bucket."},
		{Name: "region", Type: typeString, Default: "us-east-1", NonEmpty: true, Cost: CostObject, Doc: "Its region."},
		{Name: "endpoint", Type: typeString, NonEmpty: true, Cost: CostObject, Derived: "AWS", Doc: "The URL of the server, as in `https://minio.example.com`."},
		{Name: "prefix", Type: typeString, NonEmpty: true, Cost: CostObject, Doc: "What the names of objects begin with, as in `prod/`."},
		{Name: "access_key", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "The ID of a credential. The right to put objects (`s3:PutObject`) is all that it needs, and all that it should have: it lies on every control plane."},
		{Name: "secret_key", Type: typeString, Required: true, NonEmpty: true, Sensitive: true, Cost: CostObject, Doc: "Its secret."},
		{Name: "ca", Type: typeString, NonEmpty: true, Cost: CostObject, Derived: "those of the host", Doc: "Certificates of CAs in PEM form, for a server with a certificate of yours."},
	},
}
