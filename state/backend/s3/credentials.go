package s3

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
)

// strangeError is the refusal to send a session token to a server that the configuration
// alone names.
type strangeError struct{ endpoint string }

func (e *strangeError) Error() string {
	return "the session token of this machine's credentials is not sent to " + e.endpoint + ": the configuration alone names that server, and whoever changes the configuration could collect the token there"
}

// Confined implements backend.Confining. A signature does not reveal the secret key, and
// is worth nothing at another server: it is sent to any endpoint. A session token is sent
// as it is, to AWS, or to a server that is named outside of the configuration. Whether
// there is one is known when the credentials are found.
func (b *Backend) Confined(given backend.Given) error {
	if b.settings["endpoint"] == "" || given.SureOf("endpoint") {
		return nil
	}
	static := b.settings["access_key"] != "" && b.settings["token"] != ""
	from, outside := given.From["token"]
	if static && (!outside || from.File && from == given.From["endpoint"]) {
		return nil // given beside the endpoint
	}
	b.login.strange = b.strange(given)
	return nil
}

// strange is the endpoint unless it is AWS's, or one that is named outside as well.
func (b *Backend) strange(given backend.Given) string {
	u, err := url.Parse(b.endpoint)
	if err != nil || strings.EqualFold(u.Scheme, "https") && ofAWS(u.Hostname()) {
		return ""
	}
	for _, value := range append(given.Sure["endpoint"], os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")) {
		if known, err := url.Parse(value); err == nil && value != "" && backend.Origin(known) == backend.Origin(u) {
			return ""
		}
	}
	return backend.Origin(u)
}

func ofAWS(host string) bool {
	host = strings.ToLower(host)
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn")
}

// open is the note about a server without encryption.
func open(u *url.URL) []backend.Note {
	if !strings.EqualFold(u.Scheme, "http") || backend.Loopback(u.Hostname()) {
		return nil
	}
	return []backend.Note{{
		Title: "State is sent without encryption",
		Text:  fmt.Sprintf("The endpoint of the backend is http://%s: whoever is on the way can read the state and a session token, and can answer in place of the server. Use an endpoint with https.", u.Host),
	}}
}
