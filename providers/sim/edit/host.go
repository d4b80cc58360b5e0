package edit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/observation"
	"github.com/kubewright/kubewright/state"
)

func (e *edit) unit() error {
	w, err := e.words("a unit", "start, stop, restart, enable or disable")
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"start", "stop", "restart", "enable", "disable"}, w[1]) {
		return fmt.Errorf("unknown action %q; start, stop, restart, enable or disable", w[1])
	}
	_, err = e.m.Systemd().Act(machine.UnitName(w[0]), w[1])
	return err
}

func (e *edit) sysctl() error {
	name, value, err := e.pair("NAME=VALUE")
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "net.netfilter.") || strings.HasPrefix(name, "net.ipv4.vs.") {
		// A parameter of a module: the next boot loses it.
		machine.SetText(&e.m.Sysctls, name, value, "")
		return nil
	}
	_, err = e.m.Kernel().SetSysctl(name, value)
	return err
}

func (e *edit) link() error {
	name, err := e.word("a link")
	if err == nil {
		machine.Insert(&e.m.Links, name)
	}
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
	_, err = e.m.Kernel().LoadModule(w[0], load)
	return err
}

func (e *edit) swap() error {
	word, err := e.word("on or off")
	if err != nil {
		return err
	}
	on, err := either(word, "on", "off")
	if err == nil {
		e.m.Kernel().SetSwap(on)
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
		e.m.ImageStore().Set(w[1], add)
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
	e.m.Put(p, file.Opaque(machine.Versioned(program, version), "0755"))
	if _, changed := e.m.Files[p]; !changed {
		version = "" // restore the machine's own
	}
	machine.SetText(&e.m.Versions, p, version, "")
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
			e.m.Boot()
		}
	case "reboot":
		e.m.Boot()
	default:
		return fmt.Errorf("%q is not on, off or reboot", word)
	}
	return nil
}

// reinstall resets the machine to its original state.
func (e *edit) reinstall() error {
	e.m.Reinstall()
	return nil
}

// profile replaces the hardware of a host. Changes to it are lost.
func (e *edit) profile() error {
	word, err := e.word("bare or prepared")
	if err != nil {
		return err
	}
	bare, err := either(word, "bare", "prepared")
	if err != nil {
		return err
	}
	p := machine.DefaultProfile()
	if bare {
		p = machine.BareProfile()
	}
	e.m.ReplaceHardware(p)
	return nil
}

func (e *edit) condition() error {
	w, err := e.words("a condition", "on, off or a value")
	if err != nil {
		return err
	}
	c := &e.m.Conditions
	flags := map[string]*bool{
		"unreachable": &c.Unreachable, "changed-host-key": &c.ChangedHostKey, "refuses-key": &c.RefusesKey, "no-sudo": &c.NoSudo,
		"disk-full": &c.DiskFull, "no-registry": &c.NoRegistry, "foreign-cluster": &c.ForeignCluster,
		"no-mirror": &c.NoMirror, "no-forwarding": &c.NoForwarding, "no-systemd": &c.NoSystemd, "cgroup-v1": &c.CgroupV1,
		"cri-disabled": &c.CRIDisabled, "unprobed": &c.Unprobed, "unreported": &c.Unreported,
	}
	switch flag := flags[w[0]]; {
	case w[0] == "arch":
		c.Arch = w[1]
	case w[0] == "clock-skew":
		c.ClockSkew, err = duration(w[1])
	case w[0] == "package-lock":
		if c.PackageLock = w[1]; w[1] == "off" {
			c.PackageLock = ""
		}
	case w[0] == "no-package":
		if c.NoPackages = append(c.NoPackages, w[1]); w[1] == "none" {
			c.NoPackages = nil
		}
	case w[0] == "no-module":
		if c.NoModules = append(c.NoModules, w[1]); w[1] == "none" {
			c.NoModules = nil
		}
	case flag == nil:
		return fmt.Errorf("unknown condition %q; one of arch, clock-skew, no-module, no-package, package-lock, %s", w[0], strings.Join(slices.Sorted(maps.Keys(flags)), ", "))
	default:
		if *flag, err = either(w[1], "on", "off"); err == nil && *flag && w[0] == "foreign-cluster" {
			MakeForeign(e.servers.Fleet, e.m)
		}
	}
	return err
}

// hardware changes the machine's hardware.
func (e *edit) hardware() error {
	name, value, err := e.pair("cpus=N, memory=MIB, kernel=RELEASE, os=NAME or hostname=NAME")
	if err != nil {
		return err
	}
	p := e.m.HardwareProfile()
	switch name {
	case "cpus":
		p.CPUs, err = strconv.Atoi(value)
	case "memory":
		p.MemoryBytes, err = strconv.ParseInt(value, 10, 43)
		p.MemoryBytes <<= 20
	case "kernel":
		p.Kernel = value
	case "os":
		p.OS = value
	case "hostname":
		e.m.Rename(value)
	default:
		return fmt.Errorf("unknown hardware %q; one of cpus, memory, kernel, os, hostname", name)
	}
	if err != nil {
		return fmt.Errorf("%q is no number", value)
	}
	e.m.Profile = &p
	return nil
}

// pkg changes the package manager's database and nothing else.
func (e *edit) pkg() error {
	w, err := e.words("a package", "hold, unhold or a status such as half-configured")
	if err != nil {
		return err
	}
	p, there := e.m.PackageManager().Get(w[0])
	switch {
	case !there && w[1] != "half-configured":
		return fmt.Errorf("%s is not there", w[0])
	case w[1] == "hold" || w[1] == "unhold":
		p.Held = w[1] == "hold"
	default:
		p.Status = w[1]
	}
	e.m.PackageManager().Set(w[0], p)
	return nil
}

// port opens or closes a port of another program.
func (e *edit) port() error {
	w, err := e.words("a port", "listen or close")
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(w[0], 10, 16)
	if err != nil {
		return fmt.Errorf("%q is no port", w[0])
	}
	listen, err := either(w[1], "listen", "close")
	if err != nil {
		return err
	}
	ports := &e.m.Conditions.Ports
	*ports = slices.DeleteFunc(*ports, func(p int) bool { return p == int(number) })
	if listen {
		machine.Insert(ports, int(number))
	}
	return nil
}

// preflight replaces an answer to a preflight question.
func (e *edit) preflight() error {
	name, value, err := e.pair("NAME=VALUE")
	if err != nil {
		return err
	}
	known := observation.Of(e.servers, e.m).Preflight()
	if _, ok := known[name]; !ok {
		return fmt.Errorf("unknown question %q; one of %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	if e.m.Conditions.Answers == nil {
		e.m.Conditions.Answers = map[string]string{}
	}
	e.m.Conditions.Answers[name] = value
	return nil
}

// foreign removes what distinguishes a host of kubewright's from one that kubeadm made.
func (e *edit) foreign() error {
	e.m.ForgetMarks()
	const ours, theirs = "/etc/sysctl.d/99-kubewright.conf", "/etc/sysctl.d/k8s.conf"
	if f := e.m.Files[ours]; f != nil {
		e.m.Files[theirs] = f
		delete(e.m.Files, ours)
	}
	return nil
}

// mark changes kubewright's marks on the host, as only root can.
func (e *edit) mark() error {
	name, value, err := e.pair("NAME=VALUE")
	if err != nil {
		return err
	}
	marks := state.Marks{}
	if e.m.Marks != nil {
		marks = *e.m.Marks
	}
	switch name {
	case "lineage":
		marks.Lineage, e.m.Lineage = value, value
	case "format":
		marks.Format, err = strconv.Atoi(value)
	case "cluster":
		marks.Cluster = value
	case "node":
		marks.Node, err = state.ParseTarget(value)
	case "ca":
		marks.ClusterCA = value
	case "token":
		e.m.Run = ""
		e.m.Token, err = strconv.ParseInt(value, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			e.m.Token, err = math.MaxInt64, nil // as parsed on real hosts
		}
	case "unreadable":
		e.m.Unreadable = value
	default:
		return fmt.Errorf("unknown part %q of a mark; lineage, format, cluster, node, ca, token or unreadable", name)
	}
	if err != nil {
		return err
	}
	if name != "token" && name != "unreadable" {
		e.m.Marks = &marks
	}
	return nil
}
