package pg

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/kubewright/kubewright/state/backend"
)

// Confined implements backend.Confining. A conn_str of the environment or the command line is
// used as it is. For a conn_str of the configuration no password from elsewhere is used
// (PGPASSWORD, a service, or a line of the password file for any host), unless the environment
// names its servers as well. A password in the conn_str itself, or one that the password file has
// for exactly that host, may be sent.
func (b *Backend) Confined(given backend.Given) error {
	if b.connect == "" || given.SureOf("conn_str") {
		return nil
	}
	words := keys(b.connect)
	server := words["host"] || words["hostaddr"] || words["port"]
	for _, file := range []string{"servicefile", "passfile"} {
		if words[file] {
			return refused(file+" of conn_str names a file with passwords", "name that file in the environment, as PG"+strings.ToUpper(file))
		}
	}
	switch {
	case !server: // which is then the environment's, or the service's
		return nil
	case words["service"]:
		return refused("conn_str names a service, which has a password, and a server", "leave the server to the service")
	}
	for _, a := range attempts(b.config) {
		if !b.belongs(a) {
			return refused(fmt.Sprintf("conn_str of the configuration alone names the server %s", target(a)),
				fmt.Sprintf("if that server is right, name it in the environment as well: PGHOST=%s PGPORT=%d, or the whole as KUBEWRIGHT_PG_CONN_STR", a.Host, a.Port))
		}
	}
	return nil
}

func refused(problem, remedy string) error {
	return fmt.Errorf("the password of this machine for PostgreSQL (PGPASSWORD, a service or the password file) is not used: %s, and anyone who changes the configuration could collect the password there. Nothing was sent; %s", problem, remedy)
}

// belongs reports whether the password may be sent to a server.
func (b *Backend) belongs(a *pgconn.FallbackConfig) bool {
	password := b.config.Password
	if password == "" || named(a) {
		return true
	}
	here, err := b.passwordFor(a.Host, a.Port)
	anywhere, failed := b.passwordFor(nowhere, a.Port)
	if err != nil || failed != nil || password == os.Getenv("PGPASSWORD") || password == anywhere {
		return false
	}
	first, err := b.passwordFor(b.config.Host, b.config.Port)
	return err == nil && (first != password || here == password)
}

// nowhere is a host for which no file has a password (RFC 2606).
const nowhere = "nowhere.invalid"

// passwordFor returns the password that environment and files have for a server.
func (b *Backend) passwordFor(host string, port uint16) (string, error) {
	quote := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	}
	c, err := pgconn.ParseConfig(fmt.Sprintf("host=%s port=%d user=%s dbname=%s", quote(host), port, quote(b.config.User), quote(b.config.Database)))
	if err != nil {
		return "", err
	}
	return c.Password, nil
}

// named reports whether the environment names a server.
func named(a *pgconn.FallbackConfig) bool {
	if os.Getenv("PGHOST") == "" && os.Getenv("PGSERVICE") == "" {
		return false
	}
	c, err := pgconn.ParseConfig("")
	return err == nil && slices.ContainsFunc(attempts(c), func(known *pgconn.FallbackConfig) bool { return target(known) == target(a) })
}

// word matches a parameter name before an equals sign in a connection string.
var word = regexp.MustCompile(`([A-Za-z_]+)\s*=`)

// keys returns the parameters of a connection string. It may return more, because a password can
// contain text that looks like a parameter.
func keys(connect string) map[string]bool {
	out := map[string]bool{}
	address := strings.HasPrefix(connect, "postgres://") || strings.HasPrefix(connect, "postgresql://")
	u, err := url.Parse(connect)
	if err != nil || !address {
		out["host"] = address // several hosts, which pgconn accepts and net/url does not
		for _, m := range word.FindAllStringSubmatch(connect, -1) {
			out[m[1]] = true
		}
		return out
	}
	out["host"] = u.Host != ""
	for name := range u.Query() {
		out[name] = true
	}
	return out
}
