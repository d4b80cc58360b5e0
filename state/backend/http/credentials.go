package http

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
)

// Confined implements backend.Confining: user and password go only to servers that are named in
// the environment or on the command line, or in the settings file that gives the secret.
func (b *Backend) Confined(given backend.Given) error {
	for _, secret := range []string{"password", "username"} {
		from, outside := given.From[secret]
		if !outside || b.settings[secret] == "" {
			continue
		}
		known := b.known(given, from)
		for _, name := range addresses {
			u, err := url.Parse(b.settings[name])
			if err != nil || b.settings[name] == "" || slices.Contains(known, backend.Origin(u)) {
				continue
			}
			by := "the configuration"
			if f := given.From[name]; f.File {
				by = f.By
			}
			return fmt.Errorf("the %s from %s is not sent to %s: %s alone names that server, as %s, and anyone who changes it could collect the %s there. "+
				"Nothing was sent. If that server is right, name it where the %s is given: set KUBEWRIGHT_HTTP_%s=%s, or give -backend-config=%s=%s",
				secret, from.By, backend.Origin(u), by, name, secret, secret, strings.ToUpper(name), b.shown(u), name, b.shown(u))
		}
	}
	return nil
}

// known returns the servers that are named where a secret is given.
func (b *Backend) known(given backend.Given, secret backend.Source) []string {
	var out []string
	for _, name := range addresses {
		values := slices.Clone(given.Sure[name])
		if secret.File && given.From[name] == secret {
			values = append(values, b.settings[name])
		}
		for _, value := range values {
			if u, err := url.Parse(value); err == nil {
				out = append(out, backend.Origin(u))
			}
		}
	}
	return out
}

// open returns the notes about credentials that are exposed on the network.
func open(s backend.Settings) []backend.Note {
	if s["username"] == "" && s["password"] == "" {
		return nil
	}
	var out []backend.Note
	for _, name := range addresses {
		u, err := url.Parse(s[name])
		if err != nil || s[name] == "" || backend.Loopback(u.Hostname()) {
			continue
		}
		switch {
		case strings.EqualFold(u.Scheme, "http"):
			out = append(out, backend.Note{
				Title: "Credentials are sent without encryption",
				Text:  fmt.Sprintf("%s of the backend is http://%s: anyone on the network path can read the credentials, and read and change the state. Use an address with https.", name, u.Host),
			})
		case s.Bool("skip_cert_verification"):
			out = append(out, backend.Note{
				Title: "Credentials are sent to an unverified server",
				Text:  fmt.Sprintf("The certificate of https://%s is not checked (skip_cert_verification): anyone on the network path can answer in its place, and gets the credentials. Give its CA as ca_certificate_pem.", u.Host),
			})
		}
	}
	return out
}
