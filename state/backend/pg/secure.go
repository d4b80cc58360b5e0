package pg

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kubewright/kubewright/state/backend"
)

// dial connects to the database.
func (b *Backend) dial(ctx context.Context) (*pgconn.PgConn, error) {
	b.Say(b.open...)
	return pgconn.ConnectConfig(ctx, b.config)
}

// attempts returns the servers that a connection is tried with, in this order.
func attempts(c *pgconn.Config) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
}

// unix reports whether a server is a socket of this machine.
func unix(a *pgconn.FallbackConfig) bool {
	network, _ := pgconn.NetworkAddress(a.Host, a.Port)
	return network == "unix"
}

// near reports whether traffic to a server stays on this machine.
func near(a *pgconn.FallbackConfig) bool { return unix(a) || backend.Loopback(a.Host) }

// target returns host and port of a server.
func target(a *pgconn.FallbackConfig) string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// secure removes the attempts without TLS for servers that also have one with TLS, as
// sslmode=prefer (the library's default) and sslmode=allow produce: otherwise an attacker on the
// network decides which one is used. sslmode=disable stays, as an explicit choice. A password is
// never sent in clear text without TLS, whatever the server asks for.
func secure(c *pgconn.Config) {
	all := attempts(c)
	encrypted := map[string]bool{}
	for _, a := range all {
		encrypted[target(a)] = encrypted[target(a)] || a.TLSConfig != nil
	}
	all = slices.DeleteFunc(all, func(a *pgconn.FallbackConfig) bool {
		return a.TLSConfig == nil && encrypted[target(a)] && !near(a)
	})
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	if slices.ContainsFunc(all, func(a *pgconn.FallbackConfig) bool { return a.TLSConfig == nil && !unix(a) }) {
		c.RequireAuth = withoutCleartext(c.RequireAuth)
	}
}

// withoutCleartext returns the value of require_auth (a parameter of PostgreSQL's connection
// strings) without the method that sends a password in clear text.
func withoutCleartext(methods string) string {
	const cleartext, strong = "password", "scram-sha-256"
	list := strings.Split(strings.ReplaceAll(methods, " ", ""), ",")
	switch {
	case methods == "":
		return "!" + cleartext
	case slices.Contains(list, "!"+cleartext):
		return methods
	case strings.HasPrefix(list[0], "!"):
		return methods + ",!" + cleartext
	}
	list = slices.DeleteFunc(list, func(m string) bool { return m == cleartext })
	if len(list) == 0 {
		return strong
	}
	return strings.Join(list, ",")
}

// open returns the notes about data that is exposed on the network.
func open(c *pgconn.Config) []backend.Note {
	var out []backend.Note
	for _, a := range attempts(c) {
		switch {
		case near(a):
		case a.TLSConfig == nil:
			out = append(out, backend.Note{
				Title: "Database is used without encryption",
				Text:  fmt.Sprintf("The connection to PostgreSQL at %s has no TLS (sslmode=disable): anyone on the network path can read and change the state, and can try out passwords. Set sslmode=verify-full.", target(a)),
			})
		case unverified(a.TLSConfig):
			out = append(out, backend.Note{
				Title: "Database is not verified",
				Text:  fmt.Sprintf("The certificate of PostgreSQL at %s is not checked: anyone on the network path can answer in its place, and read and change the state. Set sslmode=verify-full, with sslrootcert where its CA is not one of this machine's.", target(a)),
			})
		}
	}
	return out
}

func unverified(c *tls.Config) bool {
	return c.InsecureSkipVerify && c.VerifyPeerCertificate == nil && c.VerifyConnection == nil
}

// remedy says how to fix a failure.
func remedy(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "server requested password authentication"):
		return "the server asks for the password in clear text over a connection without TLS, and did not get it: use sslmode=verify-full, or have the server ask for scram-sha-256 (pg_hba.conf)"
	case strings.Contains(text, "server refused TLS connection"):
		return "switch TLS on at the server (ssl = on); on a private network, sslmode=disable does without"
	}
	return "see that the database can be reached from here, and run the same command again"
}
