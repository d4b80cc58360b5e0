package planner

import "time"

// TakeBackup runs the script of a backup block on the step's own host, before a step that could lose
// data: whichever etcd leads, and whatever the timer has taken. It fails with the script's own message.
// With a MaxAge it is done when the interrupted plan that this one continues has left a younger backup
// before the same risk. Its output backup is the name of the backup.
type TakeBackup struct {
	// Script is the path of the script, SHA256 its digest: no other one is run.
	Script string `json:"script"`
	SHA256 string `json:"sha256"`
	// Before names the risk, as in "a member is removed". The backup says so.
	Before string        `json:"before"`
	MaxAge time.Duration `json:"max_age,omitempty"`
	// Since is set where the plan is carried out, in seconds of Unix time: a backup that was taken
	// since then is enough. 0 for none.
	Since int64 `json:"since,omitempty"`
}

// Op returns the name in JSON.
func (TakeBackup) Op() string { return "take_backup" }

// Summary returns one line for the progress display.
func (TakeBackup) Summary() string { return "take a backup" }
