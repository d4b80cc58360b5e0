// Package backup has what a backup block stands for: the script, the settings and the units of
// control planes that take backups of a cluster, and the format of what they write. A backup is
// taken, encrypted and put away by the host alone; kubewright only brings the script, and reads what
// it reports. It contacts nothing.
package backup
