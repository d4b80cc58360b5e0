package state

import (
	"strconv"
	"strings"
)

// OwnerAs returns the owner in the form of a wanted one: of user and group the ID where an ID is wanted, and
// else the name. Where the IDs are unknown it has the names.
func (f FileReport) OwnerAs(wanted string) string {
	user, group, _ := strings.Cut(f.Owner, ":")
	uid, gid, known := strings.Cut(f.OwnerIDs, ":")
	wantUser, wantGroup, _ := strings.Cut(wanted, ":")
	if known && isID(wantUser) {
		user = uid
	}
	if known && isID(wantGroup) {
		group = gid
	}
	return user + ":" + group
}

func isID(part string) bool {
	_, err := strconv.ParseUint(part, 10, 32)
	return err == nil
}
