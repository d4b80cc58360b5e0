package machine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers"
)

// Conditions are the faulty or unusual conditions of a host.
type Conditions struct {
	// Unreachable: no connection can be made.
	Unreachable bool `json:"unreachable,omitempty"`
	// ChangedHostKey: the host shows another key than the known one.
	ChangedHostKey bool `json:"changed_host_key,omitempty"`
	// RefusesKey: a login with the key is refused.
	RefusesKey bool `json:"refuses_key,omitempty"`
	// NoSudo: the login works, but it cannot become root.
	NoSudo bool `json:"no_sudo,omitempty"`
	// DiskFull: nothing can be written.
	DiskFull bool `json:"disk_full,omitempty"`
	// NoRegistry: images cannot be pulled.
	NoRegistry bool `json:"no_registry,omitempty"`
	// NoForwarding: sshd forbids connections to other hosts.
	NoForwarding bool `json:"no_forwarding,omitempty"`
	// NoMirror: the package repository does not answer.
	NoMirror bool `json:"no_mirror,omitempty"`
	// NoPackages are packages that the repository lacks, as NAME=VERSION.
	NoPackages []string `json:"no_packages,omitempty"`
	// NoModules are modules that the kernel lacks.
	NoModules []string `json:"no_modules,omitempty"`
	// PackageLock is a program that uses the package manager.
	PackageLock string `json:"package_lock,omitempty"`
	// ForeignCluster: the host has files of another cluster.
	ForeignCluster bool `json:"foreign_cluster,omitempty"`
	// Arch is another architecture than the profile's.
	Arch string `json:"arch,omitempty"`
	// NoSystemd: PID 1 is something else.
	NoSystemd bool `json:"no_systemd,omitempty"`
	// CgroupV1: no unified hierarchy.
	CgroupV1 bool `json:"cgroup_v1,omitempty"`
	// CRIDisabled: containerd as in Docker's package, with its CRI plugin turned off until
	// another config.toml is written.
	CRIDisabled bool `json:"cri_disabled,omitempty"`
	// Unprobed: the kubelet has not probed its static pods yet, and reports them as not
	// ready.
	Unprobed bool `json:"unprobed,omitempty"`
	// Unreported: the kubelet has made mirror pods and not reported their status yet.
	Unreported bool `json:"unreported,omitempty"`
	// Ports are the ports on which other programs listen.
	Ports []int `json:"ports,omitempty"`
	// Answers replace the host's answers to preflight questions.
	Answers map[string]string `json:"answers,omitempty"`
	// ClockSkew is the host's clock minus the true time.
	ClockSkew time.Duration `json:"clock_skew,omitempty"`
}

// Connected checks that a host can be reached, logged in to and administered.
func (m *Machine) Connected(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	do := "connect to " + m.Address
	switch {
	case m.Off, m.Conditions.Unreachable:
		return &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: errors.New("no route to host")}
	case m.Conditions.ChangedHostKey:
		return &providers.Error{Kind: providers.ErrHostKeyChanged, Do: do}
	case m.Conditions.RefusesKey:
		return &providers.Error{Kind: providers.ErrAuth, Do: "log in to " + m.Address, Cause: errors.New("no key is accepted")}
	case m.Conditions.NoSudo:
		return &providers.Error{Kind: providers.ErrSudo, Do: "run commands on " + m.Address, Cause: errors.New("sudo: a password is required")}
	}
	return nil
}

// CommandError returns the error of a command that failed on the machine.
func (m *Machine) CommandError(what string, code int, stderr string) error {
	return &providers.CommandError{Host: m.Address, Command: what, ExitCode: code, Stderr: providers.Tail([]byte(stderr))}
}

// lacks reports whether the repository lacks a package in the version.
func (c Conditions) lacks(name, version string) bool {
	return slices.Contains(c.NoPackages, name+"="+version)
}
