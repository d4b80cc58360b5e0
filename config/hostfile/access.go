package hostfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// MaxContent limits the content of a file in bytes: the state keeps it, and each plan reads it from
// every host.
const MaxContent = 256 << 10

var (
	modeForm  = regexp.MustCompile(`^0?[0-7]{3}$`)
	longMode  = regexp.MustCompile(`^0?[0-7]{4}$`)
	ownerName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
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

// maxID is the largest ID of a user or group: the kernel reserves the one after it.
const maxID = 1<<32 - 2

// CompleteOwner returns an owner as USER:GROUP: a group of the same name or ID is added to a user alone,
// and the ID 0 has the name root.
func CompleteOwner(owner string) string {
	user, group, both := strings.Cut(owner, ":")
	switch {
	case owner == "":
		return ""
	case !both:
		group = user
	}
	return rootByName(user) + ":" + rootByName(group)
}

func rootByName(part string) string {
	if part == "0" {
		return "root"
	}
	return part
}

// RefusedOwner says why an owner is refused; empty if it is not.
func RefusedOwner(owner string) string {
	user, group, _ := strings.Cut(owner, ":")
	for _, part := range []string{user, group} {
		id, err := strconv.ParseUint(part, 10, 64)
		switch {
		case err == nil && strconv.FormatUint(id, 10) != part:
			return fmt.Sprintf("has an ID with a sign or zeros before it. Write %d.", id)
		case err == nil && id > maxID:
			return fmt.Sprintf("has an ID that is too large: hosts have IDs up to %d.", uint64(maxID))
		case err != nil && !ownerName.MatchString(part):
			return "names no user and group. Write them by their names, as in \"root:root\", or by their IDs, as in \"65532:65532\"."
		}
	}
	return ""
}

// GroupWrites reports whether a mode lets the group write.
func GroupWrites(mode string) bool {
	m := FullMode(mode)
	return len(m) == 4 && strings.ContainsAny(m[2:3], "2367")
}
