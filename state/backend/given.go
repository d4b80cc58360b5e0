package backend

import (
	"net"
	"net/url"
	"strings"
)

// Given says which settings are from outside of the configuration. Whoever changes the
// configuration, as in a branch that CI plans, can name any server there: it must not get
// what the environment, the command line or a file of settings holds for another one.
type Given struct {
	// From has the settings whose value is not the configuration's.
	From map[string]Source
	// Sure are the values that environment and command line have of a setting, also
	// where another one comes before them.
	Sure map[string][]string
}

// Source is where a setting is from.
type Source struct {
	// By is how it was given: an environment variable, a flag, or a file.
	By string
	// File reports that By is a file of settings, which the configuration's folder may hold.
	File bool
}

// Confining is a backend that has credentials to send.
type Confining interface {
	// Confined fails where credentials from outside would be sent to a server that the
	// configuration alone names. Nothing is contacted.
	Confined(Given) error
}

// SureOf reports whether the effective value of a setting is that of the environment or
// the command line.
func (g Given) SureOf(setting string) bool {
	from, outside := g.From[setting]
	return outside && !from.File
}

// Origin is scheme, host and port of an address, as two are compared to know whether
// they are one server.
func Origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), Port(u))
}

// Port returns the port of an address, or its scheme's.
func Port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// Loopback reports whether what is sent to a host stays on this machine.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}
