package cli

import (
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config"
)

// TestClusterIsChosenByName checks that the only cluster needs no name, and that one of several has to
// be named.
func TestClusterIsChosenByName(t *testing.T) {
	t.Parallel()
	none, one := &config.Config{}, &config.Config{Clusters: []*config.Cluster{{Label: "blue"}}}
	two := &config.Config{Clusters: []*config.Cluster{{Label: "blue"}, {Label: "green"}}}
	for _, c := range []struct {
		config *config.Config
		label  string
		want   string
	}{
		{one, "", "blue"},
		{two, "green", "green"},
		{none, "", "error: No cluster: The configuration has no cluster block."},
		{none, "blue", "error: No cluster: The configuration has no cluster block."},
		{one, "bleu", `error: Unknown cluster: The configuration has no cluster "bleu". Did you mean blue? It has blue.`},
		{two, "", "error: Which cluster?: The configuration has 2 clusters: blue, green. Name one after the command."},
	} {
		got := ""
		if chosen, which := session.ChosenCluster(c.config, c.label, "after the command"); which != nil {
			got = which.String()
		} else {
			got = chosen.Label
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.label, got, c.want)
		}
	}
}

// TestAPIAddressMustBeCallable checks that a URL that clients cannot call, or would call without TLS, is no API
// address.
func TestAPIAddressMustBeCallable(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"https://api.example.com:6443":  true,
		"https://api.example.com":       true,
		"https://[fd00::1]:6443":        true,
		"https://gateway.example/k8s/1": true,
		"http://api.example.com:6443":   false,
		"HTTPS://":                      false,
		"https://:6443":                 false,
		"https://api.example.com:api":   false,
		"https://api example.com":       false,
		"https://ada:pw@api.example":    false,
		"https://api.example/?a=b":      false,
		"https://api.example/#a":        false,
		"192.0.2.1:6443":                false,
		"api.example.com":               false,
		"foo bar":                       false,
	} {
		if got := isAPI(server); got != want {
			t.Errorf("%s: %v, want %v", server, got, want)
		}
	}
}
