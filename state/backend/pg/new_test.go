package pg_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/pg"
)

// TestInvalidSettingsAreRefused checks the errors for invalid settings, without a server.
func TestInvalidSettingsAreRefused(t *testing.T) {
	t.Parallel()
	const connect = "postgres://ann@db.example.com/states"
	for want, s := range map[string]backend.Settings{
		`conn_str of the backend "pg" cannot be understood: it is as in postgres://user@db.example.com/states`:     {"conn_str": "port=many", "schema_name": "s", "name": "n"},
		"what is special in it would have to be written with %":                                                    {"conn_str": "postgres://ann:top/secret@db.example.com/states", "schema_name": "s", "name": "n"},
		`the backend "pg" needs schema_name: write it into the backend block`:                                      {"conn_str": connect, "name": "n"},
		`schema_name of the backend "pg" has 64 bytes, and PostgreSQL heeds the first 63 only: give a shorter one`: {"conn_str": connect, "schema_name": strings.Repeat("s", 64), "name": "n"},
	} {
		if _, err := pg.New(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}
