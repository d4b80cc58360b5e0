package s3

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
)

// open returns the note about a server without encryption. Credentials need no note, no matter
// where the server's name comes from: a signature (SigV4) does not reveal the secret key and is
// worthless at another host, and a session token is useless without that key.
func open(u *url.URL) []backend.Note {
	if !strings.EqualFold(u.Scheme, "http") || backend.Loopback(u.Hostname()) {
		return nil
	}
	return []backend.Note{{
		Title: "State is sent without encryption",
		Text:  fmt.Sprintf("The endpoint of the backend is http://%s: anyone on the network path can read the state, and can answer in place of the server. Use an endpoint with https.", u.Host),
	}}
}
