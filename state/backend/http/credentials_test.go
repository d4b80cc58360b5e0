package http_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
)

// TestCredentialsAreConfinedToNamedServers checks that credentials only go to servers that are named where the credentials
// are given.
func TestCredentialsAreConfinedToNamedServers(t *testing.T) {
	t.Parallel()
	const right, other = "https://states.example.com/prod", "https://evil.example.net/prod"
	environment, flag, file := backend.Source{By: "KUBEWRIGHT_HTTP_PASSWORD"}, backend.Source{By: "-backend-config=address"}, backend.Source{By: "team.backend", File: true}
	type from = map[string]backend.Source
	type sure = map[string][]string
	for name, c := range map[string]struct {
		settings backend.Settings
		given    backend.Given
		want     string
	}{
		"all in the configuration":         {backend.Settings{"address": other, "password": "x"}, backend.Given{}, ""},
		"no password":                      {backend.Settings{"address": other}, backend.Given{}, ""},
		"the environment names it":         {backend.Settings{"address": right, "password": "x"}, backend.Given{From: from{"password": environment, "address": environment}, Sure: sure{"address": {right}}}, ""},
		"the environment confirms it":      {backend.Settings{"address": right, "password": "x"}, backend.Given{From: from{"password": environment}, Sure: sure{"address": {"https://STATES.example.com:443/x"}}}, ""},
		"the command line names it":        {backend.Settings{"address": right, "password": "x"}, backend.Given{From: from{"password": environment, "address": flag}, Sure: sure{"address": {right}}}, ""},
		"one file has both":                {backend.Settings{"address": right, "password": "x"}, backend.Given{From: from{"password": file, "address": file}}, ""},
		"the configuration names it":       {backend.Settings{"address": other, "password": "x"}, backend.Given{From: from{"password": environment}}, "https://evil.example.net:443: the configuration alone names that server, as address"},
		"the configuration names another":  {backend.Settings{"address": other, "password": "x"}, backend.Given{From: from{"password": environment}, Sure: sure{"address": {right}}}, "set KUBEWRIGHT_HTTP_ADDRESS=" + other + ", or give -backend-config=address=" + other},
		"without encryption":               {backend.Settings{"address": "http://states.example.com/prod", "password": "x"}, backend.Given{From: from{"password": environment}, Sure: sure{"address": {right}}}, "http://states.example.com:80"},
		"another port":                     {backend.Settings{"address": "https://states.example.com:8443/prod", "password": "x"}, backend.Given{From: from{"password": environment}, Sure: sure{"address": {right}}}, "https://states.example.com:8443"},
		"the lock elsewhere":               {backend.Settings{"address": right, "lock_address": other, "password": "x"}, backend.Given{From: from{"password": environment, "address": environment}, Sure: sure{"address": {right}}}, "as lock_address"},
		"the unlocking elsewhere":          {backend.Settings{"address": right, "unlock_address": other, "password": "x"}, backend.Given{From: from{"password": environment}, Sure: sure{"address": {right}}}, "KUBEWRIGHT_HTTP_UNLOCK_ADDRESS"},
		"a token in the place of the user": {backend.Settings{"address": other, "username": "x"}, backend.Given{From: from{"username": {By: "KUBEWRIGHT_HTTP_USERNAME"}}}, "the username from KUBEWRIGHT_HTTP_USERNAME is not sent"},
		"a file with the password":         {backend.Settings{"address": other, "password": "x"}, backend.Given{From: from{"password": file}}, "the password from team.backend is not sent"},
		"a file with the address":          {backend.Settings{"address": other, "password": "x"}, backend.Given{From: from{"password": environment, "address": file}}, "team.backend alone names that server"},
	} {
		err := open(t, c.settings).Confined(c.given)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestExposedPasswordIsReported checks that a password that is exposed on the network is reported before it is
// sent.
func TestExposedPasswordIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings backend.Settings
		want     string
	}{
		"http":                  {backend.Settings{"address": "http://states.invalid/x", "password": "x"}, "address of the backend is http://states.invalid: anyone on the network path can read the credentials"},
		"no certificate":        {backend.Settings{"address": "https://states.invalid/x", "password": "x", "skip_cert_verification": "true"}, "The certificate of https://states.invalid is not checked"},
		"https":                 {backend.Settings{"address": "https://states.invalid/x", "password": "x"}, ""},
		"nothing to read":       {backend.Settings{"address": "http://states.invalid/x"}, ""},
		"on this machine":       {backend.Settings{"address": "http://127.0.0.1:1/x", "password": "x"}, ""},
		"on this machine, name": {backend.Settings{"address": "http://localhost:1/x", "password": "x"}, ""},
	} {
		c.settings["retry_max"] = "0"
		b, said := open(t, c.settings), ""
		b.OnNote(func(n backend.Note) { said += n.Title + ": " + n.Text })
		for range 2 {
			_, _ = b.Read(t.Context())
		}
		if (said == "") != (c.want == "") || strings.Count(said, c.want) != 1 && c.want != "" {
			t.Errorf("%s: %q, want %q once", name, said, c.want)
		}
	}
}
