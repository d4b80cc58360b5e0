package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (e *edit) unit() error {
	w, err := e.words("a unit", "start, stop, restart, enable or disable")
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"start", "stop", "restart", "enable", "disable"}, w[1]) {
		return fmt.Errorf("unknown action %q; start, stop, restart, enable or disable", w[1])
	}
	_, err = e.w.actOnUnit(e.m, unitName(w[0]), w[1])
	return err
}

func (e *edit) sysctl() error {
	name, value, err := e.pair("NAME=VALUE")
	if err != nil {
		return err
	}
	_, err = e.w.setSysctl(e.m, name, value)
	return err
}

func (e *edit) module() error {
	w, err := e.words("a module", "load or unload")
	if err != nil {
		return err
	}
	load, err := either(w[1], "load", "unload")
	if err != nil {
		return err
	}
	_, err = e.w.loadModule(e.m, w[0], load)
	return err
}

func (e *edit) swap() error {
	word, err := e.word("on or off")
	if err != nil {
		return err
	}
	on, err := either(word, "on", "off")
	if err == nil {
		e.m.SwapOn, e.m.SwapOff = on && !e.w.profile(e.m).Swap, !on && e.w.profile(e.m).Swap
	}
	return err
}

func either(word, yes, no string) (bool, error) {
	if word != yes && word != no {
		return false, fmt.Errorf("%q is neither %s nor %s", word, yes, no)
	}
	return word == yes, nil
}

func (e *edit) image() error {
	w, err := e.words("add or remove", "an image")
	if err != nil {
		return err
	}
	add, err := either(w[0], "add", "remove")
	if err == nil {
		e.w.setImage(e.m, w[1], add)
	}
	return err
}

func (e *edit) install() error {
	program, version, err := e.pair("PROGRAM=VERSION")
	if err != nil {
		return err
	}
	version = strings.TrimPrefix(version, "v")
	p := "/usr/bin/" + program
	e.w.put(e.m, p, e.w.opaque(versioned(program, version), "0755"))
	if _, changed := e.m.Files[p]; changed {
		setText(&e.m.Versions, p, version, "")
	}
	return nil
}

func (e *edit) power() error {
	word, err := e.word("on, off or reboot")
	if err != nil {
		return err
	}
	switch word {
	case "off":
		e.m.Off = true
	case "on":
		if e.m.Off {
			e.w.boot(e.m)
		}
	case "reboot":
		e.w.boot(e.m)
	default:
		return fmt.Errorf("%q is not on, off or reboot", word)
	}
	return nil
}

// profile makes another machine of a host. What was changed on it is gone.
func (e *edit) profile() error {
	word, err := e.word("bare or prepared")
	if err != nil {
		return err
	}
	bare, err := either(word, "bare", "prepared")
	if err != nil {
		return err
	}
	p := DefaultProfile()
	if bare {
		p = BareProfile()
	}
	*e.m = machine{address: e.m.address, Profile: &p, Conditions: e.m.Conditions, Boots: e.m.Boots + 1}
	delete(e.w.planes, e.m.address)
	return nil
}

func (e *edit) condition() error {
	w, err := e.words("a condition", "on, off or a value")
	if err != nil {
		return err
	}
	c := &e.m.Conditions
	flags := map[string]*bool{
		"unreachable": &c.Unreachable, "changed-host-key": &c.ChangedHostKey, "no-sudo": &c.NoSudo,
		"disk-full": &c.DiskFull, "no-registry": &c.NoRegistry, "foreign-cluster": &c.ForeignCluster,
	}
	switch flag := flags[w[0]]; {
	case w[0] == "arch":
		c.Arch = w[1]
	case w[0] == "clock-skew":
		c.ClockSkew, err = time.ParseDuration(w[1])
	case flag == nil:
		return fmt.Errorf("unknown condition %q; one of arch, clock-skew, %s", w[0], strings.Join(sortedKeys(flags), ", "))
	default:
		if *flag, err = either(w[1], "on", "off"); err == nil && *flag && w[0] == "foreign-cluster" {
			e.w.makeForeign(e.m)
		}
	}
	return err
}
