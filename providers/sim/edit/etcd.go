package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// etcd changes the properties of the host's own member.
func (e *edit) etcd() error {
	w, err := e.words("garbage, history, alarm or member", "a size in bytes, NOSPACE or CORRUPT, or an ID")
	if err != nil {
		return err
	}
	process, runs := e.servers.ProcessOn(e.m)
	if !runs || process.Member() == nil {
		return fmt.Errorf("%s runs no etcd member", e.m.Address)
	}
	mb, c := process.Member(), process.Cluster()
	switch {
	case w[0] == "member":
		process.Renumber(w[1])
		return nil
	case w[0] == "garbage":
		mb.Garbage, err = size(w[1])
		return err
	case w[0] == "history":
		c.History, err = size(w[1])
		c.Since = e.servers.Now
		return err
	case w[0] == "alarm" && (w[1] == etcd.AlarmNoSpace || w[1] == etcd.AlarmCorrupt):
		machine.Insert(&mb.Alarms, w[1])
		return nil
	}
	return fmt.Errorf("%q is none of garbage BYTES, history BYTES, alarm NOSPACE|CORRUPT and member ID", strings.Join(w, " "))
}

// size parses a number of bytes.
func size(word string) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no size in bytes", word)
	}
	return n, nil
}
