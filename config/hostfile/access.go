package hostfile

import (
	"regexp"
	"strings"
)

// MaxContent limits the content of a file in bytes: the state keeps it, and each plan reads it from
// every host.
const MaxContent = 256 << 10

var (
	modeForm  = regexp.MustCompile(`^0?[0-7]{3}$`)
	longMode  = regexp.MustCompile(`^0?[0-7]{4}$`)
	ownerForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*:[A-Za-z_][A-Za-z0-9_.-]*$`)
)

// RefusedMode says why a mode is refused, as a sentence after the mode; empty if it is not.
func RefusedMode(mode string) string {
	switch {
	case !modeForm.MatchString(mode) && longMode.MatchString(mode):
		return "sets a set-user-ID, set-group-ID or sticky bit, with which a file can hand out rights of its owner. Write three digits, with or without a zero before them."
	case !modeForm.MatchString(mode):
		return "is no mode. Write it in octal as in \"0644\"."
	case strings.ContainsAny(mode[len(mode)-1:], "2367"):
		return "lets every user of the host write to it. Leave the last digit at 0, 1, 4 or 5, and give the owner or group the right instead."
	}
	return ""
}

// FullMode returns a mode with four digits.
func FullMode(mode string) string {
	if len(mode) == 3 {
		return "0" + mode
	}
	return mode
}

// RefusedOwner says why an owner is refused; empty if it is not.
func RefusedOwner(owner string) string {
	if !ownerForm.MatchString(owner) {
		return "names no user and group. Write them by their names, as in \"root:root\"; hosts report owners by name, so that numbers would differ in each plan."
	}
	return ""
}

// GroupWrites reports whether a mode lets the group write.
func GroupWrites(mode string) bool {
	m := FullMode(mode)
	return len(m) == 4 && strings.ContainsAny(m[2:3], "2367")
}
