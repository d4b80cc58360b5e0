package hosts

import (
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// otherKey is what another host key than the known one may mean.
const otherKey = "find out why the host shows another key than before: it is another machine, it was reinstalled, or the connection is intercepted. "

// remedy returns what to do about the member's host, which could not be observed. A recorded
// key is replaced by a flag of the operator, not in known_hosts.
func (m *Member) remedy(err error) string {
	own, ok := err.(*providers.Error) // a bastion's error is wrapped
	switch {
	case m.Leaves && errors.Is(err, providers.ErrSudo) && providers.RemedyOf(err) == "":
		return "let the connection's user run sudo without a password (NOPASSWD), or give sudo_password in the connection block at the top: the state keeps no password"
	case !ok || own.Kind != providers.ErrHostKeyChanged || !m.keyRecorded || providers.RemedyOf(err) != "":
		return Remedy(err)
	case m.Leaves:
		return otherKey + "The state knows it by its old key. If it is the machine that joined, put its block back, with the new key in host_key"
	}
	return otherKey + fmt.Sprintf("The state knows it by its old key. Only when you know: if it is the machine that joined, set host_key to its new key; "+
		"if it is another one, or a reinstalled one, have the node replaced: -replace=%[1]s -accept-new-host=%[1]s", state.ShellWord(m.Target.String()))
}

// Remedy returns what to do about a host that could not be observed; empty if unknown.
func Remedy(err error) string {
	if text := providers.RemedyOf(err); text != "" {
		return text
	}
	if _, own := err.(*providers.Error); !own && errors.Is(err, providers.ErrAuth) { // a bastion's error is wrapped
		return "check user and private_key of the bastion, and that it has the public key in authorized_keys"
	}
	for _, r := range []struct {
		kind error
		text string
	}{
		{providers.ErrHostKeyUnknown, "add its key to known_hosts, pin it with host_key, or allow accept_new_host_keys"},
		{providers.ErrHostKeyChanged, otherKey + "Only then take its new key into known_hosts or host_key"},
		{providers.ErrAuth, "check user and private_key of the connection, and that the host has the public key in authorized_keys"},
		{providers.ErrSudo, "let the connection's user run sudo without a password (NOPASSWD), or give sudo_password in the connection block"},
		{providers.ErrNoForwarding, "have the bastion's sshd forward connections to the host: AllowTcpForwarding yes, and PermitOpen if it is set"},
		{providers.ErrUnreachable, "check address, port and that the host is up"},
		{providers.ErrUnsupported, "take a host with a POSIX shell and GNU tools"},
		{providers.ErrTimeout, "check that the host is up and not overloaded"},
	} {
		if errors.Is(err, r.kind) {
			return r.text
		}
	}
	return ""
}
