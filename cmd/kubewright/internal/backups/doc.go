// Package backups lists the backups that control planes take, and brings a cluster back from one,
// or tries whether that would work. It takes none itself: hosts do, by the script of config/backup.
package backups
