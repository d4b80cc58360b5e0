package bundle_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/bundle"
)

// answers is a transport that answers each URL with a redirect, or with a body.
type answers map[string]string

func (a answers) RoundTrip(q *http.Request) (*http.Response, error) {
	r := httptest.NewRecorder()
	if to := a[q.URL.String()]; to != "" {
		r.Header().Set("Location", to)
		r.WriteHeader(http.StatusFound)
	}
	response := r.Result()
	response.Request = q
	return response, nil
}

// TestBundleRedirectsStayOnPublicHTTPS checks that redirects to a publisher's storage are followed over HTTPS, and
// never into the operator's own machine or cloud.
func TestBundleRedirectsStayOnPublicHTTPS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, refused string }{
		{"https://dl.k8s.io/a", "https://cdn.dl.k8s.io/a", ""},
		{"https://github.com/a", "https://objects.example.com/a?sig=x", ""},
		{"http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b", ""},
		{"http://mirror.example.com/a", "https://mirror.example.com/a", ""},
		{"https://dl.k8s.io/a", "http://dl.k8s.io/a", "which is not HTTPS"},
		{"http://mirror.example.com/a", "http://other.example.com/a", "which is not HTTPS"},
		{"https://dl.k8s.io/a", "https://169.254.169.254/latest/meta-data", "is a link-local address"},
		{"https://dl.k8s.io/a", "https://localhost/a", "is the host itself or a metadata service"},
		{"https://dl.k8s.io/a", "https://u:p@cdn.dl.k8s.io/a", "with a user in the address"},
		{"https://dl.k8s.io/a", "https://dl.k8s.io/a", "it redirects more than 5 times"},
	} {
		client := *bundle.DefaultSources().Client
		client.Transport = answers{test.from: test.to}
		response, err := client.Get(test.from)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s → %s: %v", test.from, test.to, err)
		}
	}
}
