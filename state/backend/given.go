package backend

import (
	"net"
	"net/url"
	"strings"
)

// Given records which settings come from outside the configuration. A user who can change the
// configuration, such as on a branch that CI plans, can name any server there: that server must
// not receive credentials that the environment, the command line or a settings file holds for
// another one.
type Given struct {
	// From holds the settings whose value does not come from the configuration.
	From map[string]Source
	// Sure holds the values that environment and command line give a setting, including
	// overridden ones.
	Sure map[string][]string
}

// Source is the origin of a setting's value.
type Source struct {
	// By names the origin: an environment variable, a flag, or a file.
	By string
	// File reports whether By is a settings file, which may lie in the configuration folder.
	File bool
}

// Confining is a backend that sends credentials.
type Confining interface {
	// Confined fails where credentials from outside the configuration would be sent to a server
	// that only the configuration names. It contacts nothing.
	Confined(Given) error
}

// SureOf reports whether the effective value of a setting comes from the environment or the
// command line.
func (g Given) SureOf(setting string) bool {
	from, outside := g.From[setting]
	return outside && !from.File
}

// Origin returns scheme, host and port of an address, in the form in which two addresses are
// compared to decide whether they are the same server.
func Origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), Port(u))
}

// Port returns the port of an address, or the default port of its scheme.
func Port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// Loopback reports whether traffic to a host stays on this machine.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}
