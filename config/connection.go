package config

import (
	"net"
	"strconv"
	"time"

	"github.com/kubewright/kubewright/state"
)

// ToValue returns the connection as the state records it: enough to reach the host again, with
// the paths of keys but never their content, and without passwords. Defaults are left out.
func (c Connection) ToValue() state.Value {
	m := map[string]any{"type": c.Type}
	for k, s := range map[string]string{
		"host": c.Host, "user": c.User, "certificate": c.Certificate, "ssh_config": c.SSHConfig,
	} {
		if s != "" {
			m[k] = s
		}
	}
	for k, list := range map[string][]string{"private_keys": c.PrivateKeys, "host_keys": c.HostKeys, "known_hosts": c.KnownHosts} {
		if len(list) > 0 {
			m[k] = list
		}
	}
	if c.Port != 0 {
		m["port"] = c.Port
	}
	for k, is := range map[string]bool{"agent": c.Agent, "accept_new_host_keys": c.AcceptNewHostKey} {
		if is {
			m[k] = true
		}
	}
	if c.Timeout != 0 {
		m["timeout"] = c.Timeout.String()
	}
	if len(c.Bastions) > 0 {
		var bastions []any
		for _, b := range c.Bastions {
			bastions = append(bastions, b.ToValue())
		}
		m["bastions"] = bastions
	}
	return state.FromGo(m)
}

// ConnectionFromValue reads what ToValue wrote.
func ConnectionFromValue(v state.Value) Connection {
	timeout, _ := time.ParseDuration(v.Get("timeout").AsString())
	port, _ := strconv.Atoi(v.Get("port").AsString())
	c := Connection{
		Type: v.Get("type").AsString(), Host: v.Get("host").AsString(), Port: port, User: v.Get("user").AsString(),
		Certificate: v.Get("certificate").AsString(), SSHConfig: v.Get("ssh_config").AsString(), Agent: v.Get("agent").AsBool(),
		PrivateKeys: stringList(v.Get("private_keys")), HostKeys: stringList(v.Get("host_keys")), KnownHosts: stringList(v.Get("known_hosts")),
		AcceptNewHostKey: v.Get("accept_new_host_keys").AsBool(), Timeout: timeout,
	}
	for _, b := range v.Get("bastions").AsList() {
		c.Bastions = append(c.Bastions, ConnectionFromValue(b))
	}
	return c
}

func stringList(v state.Value) []string {
	var out []string
	for _, e := range v.AsList() {
		out = append(out, e.AsString())
	}
	return out
}

// JoinHostPort writes HOST:PORT, with brackets around an IPv6 address.
func JoinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
