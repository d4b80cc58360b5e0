package http

import (
	nethttp "net/http"
	"net/url"
	"testing"
)

// TestRedirectRules checks which redirects of a read are followed, and whether with credentials.
func TestRedirectRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to          string
		follow, confident bool
	}{
		"a path":                     {"https://a.example.com/x", "https://A.example.com:443/y", true, true},
		"an upgrade":                 {"http://a.example.com/x", "https://a.example.com/x", true, true},
		"an upgrade of its port":     {"http://a.example.com:8080/x", "https://a.example.com:8080/x", true, true},
		"an upgrade to another port": {"http://a.example.com:8080/x", "https://a.example.com:8443/x", true, false},
		"an upgrade from a port":     {"http://a.example.com:8080/x", "https://a.example.com/x", true, false},
		"a downgrade":                {"https://a.example.com/x", "http://a.example.com/x", false, false},
		"another port":               {"https://a.example.com/x", "https://a.example.com:8443/x", false, false},
		"another host":               {"https://a.example.com/x", "https://b.example.com/x", false, false},
		"a host below":               {"https://example.com/x", "https://evil.example.com/x", false, false},
		"no host":                    {"https://a.example.com/x", "file:///etc/passwd", false, false},
	} {
		request := func(text string) *nethttp.Request {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return &nethttp.Request{Method: nethttp.MethodGet, URL: u, Header: nethttp.Header{"Authorization": {"x"}}}
		}
		next := request(c.to)
		err := follow(next, []*nethttp.Request{request(c.from)})
		if (err == nil) != c.follow || err == nil && (next.Header.Get("Authorization") != "") != c.confident {
			t.Errorf("%s: %v, %v", name, err, next.Header)
		}
	}
}
