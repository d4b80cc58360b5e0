//go:build e2e

package main

import (
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/pg"
	"github.com/kubewright/kubewright/state/backend/pg/pgtest"
)

// TestStateInPostgreSQL keeps a state in a database, encrypted or not.
func TestStateInPostgreSQL(t *testing.T) {
	server := pgtest.Start(t)
	for _, schema := range []string{"plain", "sealed"} {
		connect := server.Connect(pgtest.Superuser, pgtest.Password, "postgres")
		place, err := pg.New(backend.Settings{"conn_str": connect, "schema_name": schema, "name": "prod"})
		if err != nil {
			t.Fatal(err)
		}
		p := &placed{shared: &shared{t: t, world: mustOpen(t)}, place: place, environment: map[string]string{
			"KUBEWRIGHT_PG_CONN_STR": connect, "KUBEWRIGHT_PG_SCHEMA_NAME": schema, "KUBEWRIGHT_PG_NAME": "prod",
		}}
		p.works(pgBlock, schema == "sealed")
	}
}
