// Package ssh reaches hosts over SSH: one connection per host, through any number of
// bastions, with host keys checked strictly before any credential is sent. Everything that
// runs on a host goes through providers/shell; this package knows connections, keys and
// channels only, and exports no types of x/crypto/ssh beyond itself.
//
// It never forwards the agent, requests a terminal, sends a password, writes the operator's
// known_hosts, or retries a connection by itself.
//
// Terms: a Target is how to reach a host, a Dialer makes connections and shares those to
// bastions, a Conn is one connection, a Host is a providers.Host on it.
//
// Limits follow OpenSSH's defaults (sshd_config(5)): MaxSessions 10, so at most 8 sessions
// at once; MaxAuthTries 6, so at most 5 keys offered; LoginGraceTime 120 s. Forwarded
// connections do not count as sessions.
package ssh
