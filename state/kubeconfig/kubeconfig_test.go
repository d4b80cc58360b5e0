package kubeconfig_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state/kubeconfig"
)

// text returns a kubeconfig with further JSON in its four places.
func text(file, cluster, user, context string) []byte {
	return fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config", "current-context": "c"%s, "preferences": {}, "extensions": null,
		"clusters": [{"name": "k", "cluster": {"server": "https://api.example.com:6443", "certificate-authority-data": "Y2E=", "insecure-skip-tls-verify": false%s}}],
		"users": [{"name": "u", "user": {"client-certificate-data": "Y3J0", "client-key-data": "a2V5", "username": ""%s}}],
		"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"%s}}]}`, file, cluster, user, context)
}

func parse(t *testing.T, b []byte) *kubeconfig.File {
	t.Helper()
	f, err := kubeconfig.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAccessOfInlineKubeconfig(t *testing.T) {
	t.Parallel()
	f := parse(t, text("", `, "tls-server-name": "api"`, `, "token": "t"`, `, "namespace": "n"`))
	if err := f.Refuse(); err != nil {
		t.Error(err)
	}
	a, err := f.Access("")
	if err != nil || a.Name != "c" || a.Namespace != "n" || a.Cluster.Server != "https://api.example.com:6443" || a.Cluster.TLSServerName != "api" ||
		string(a.Cluster.CA) != "ca" || string(a.User.Certificate) != "crt" || string(a.User.Key) != "key" || a.User.Token != "t" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := f.Access("other"); err == nil || err.Error() != `the kubeconfig has no context "other"` {
		t.Error(err)
	}
	const want = `it sets clusters["k"].tls-server-name, contexts["c"].namespace, users["u"].token`
	if err := f.OnlyAdmin(); err == nil || err.Error() != want {
		t.Errorf("OnlyAdmin: %v, want %s", err, want)
	}
	if err := parse(t, text("", "", "", "")).OnlyAdmin(); err != nil {
		t.Error(err)
	}
}

// TestForeignFieldsAreReported checks that every other field of a kubeconfig is reported, by its name only.
func TestForeignFieldsAreReported(t *testing.T) {
	t.Parallel()
	const secret = "not-to-be-shown"
	places := map[string]func(string) []byte{
		"":               func(s string) []byte { return text(s, "", "", "") },
		`clusters["k"].`: func(s string) []byte { return text("", s, "", "") },
		`users["u"].`:    func(s string) []byte { return text("", "", s, "") },
		`contexts["c"].`: func(s string) []byte { return text("", "", "", s) },
	}
	for place, keys := range map[string][]string{
		"":               {"preferences", "extensions", "Users", "anything"},
		`clusters["k"].`: {"certificate-authority", "insecure-skip-tls-verify", "proxy-url", "disable-compression", "extensions", "Server", "anything"},
		`users["u"].`: {
			"exec", "auth-provider", "tokenFile", "client-certificate", "client-key", "username", "password", "as", "as-uid", "as-groups", "as-user-extra",
			"impersonate", "impersonate-groups", "impersonate-user-extra", "extensions", "Token", "anything",
		},
		`contexts["c"].`: {"extensions", "anything"},
	} {
		for _, key := range keys {
			for _, value := range []string{`"` + secret + `"`, `{"a": "` + secret + `"}`, `["` + secret + `"]`, "true", "1"} {
				b := places[place](`, "` + key + `": ` + value)
				if slices.Contains([]string{"preferences", "extensions", "insecure-skip-tls-verify", "username"}, key) {
					b = replaceKey(b, key, value)
				}
				err := parse(t, b).Refuse()
				foreign := (*kubeconfig.ForeignError)(nil)
				if !errors.As(err, &foreign) || !slices.Equal(foreign.Fields, []string{place + key}) || strings.Contains(err.Error(), secret) {
					t.Errorf("%s%s = %s: %v", place, key, value, err)
				}
			}
		}
	}
}

// replaceKey removes the unset default of a key from the text, so that the key is set only once.
func replaceKey(b []byte, key, value string) []byte {
	out := string(b)
	for _, was := range []string{`"preferences": {}, `, `"extensions": null,`, `, "insecure-skip-tls-verify": false`, `, "username": ""`} {
		if strings.Contains(was, `"`+key+`"`) && !strings.Contains(was, value) {
			out = strings.Replace(out, was, "", 1)
		}
	}
	return []byte(out)
}

// TestForeignFieldsOfUnusedEntriesAreReported checks that fields of unused entries are reported as well, and that a long
// list is truncated.
func TestForeignFieldsOfUnusedEntriesAreReported(t *testing.T) {
	t.Parallel()
	more := `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: s}}, {name: k2, cluster: {server: s, proxy-url: p}, extra: 1}]
users: [{name: u, user: {token: t}}, {name: "u\e[31m2", user: {exec: {command: sh}}}]
contexts: [{name: c, context: {cluster: k, user: u}}, {name: c2, context: {cluster: k}}]
`
	f := parse(t, []byte(more))
	const want = `it sets clusters["k2"].extra, clusters["k2"].proxy-url, users["u\x1b[31m2"].exec`
	if err := f.Refuse(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	const admin = `it sets clusters["k2"], clusters["k2"].extra, clusters["k2"].proxy-url, contexts["c2"], users["u"].token, users["u\x1b[31m2"], users["u\x1b[31m2"].exec`
	if err := f.OnlyAdmin(); err == nil || err.Error() != admin {
		t.Errorf("got  %v\nwant %s", err, admin)
	}
	long := make([]string, 12)
	for i := range long {
		long[i] = fmt.Sprintf(`, "k%02d": 1`, i)
	}
	if err := parse(t, text(strings.Join(long, ""), "", "", "")).Refuse(); err == nil || !strings.HasSuffix(err.Error(), "k09, and 2 more") {
		t.Error(err)
	}
}

// TestParseRefuses checks the errors for texts that are no kubeconfig, and that they quote none
// of it.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]string{
		"empty":            "",
		"of another kind":  "kind: Pod\nclusters: [hunter2]",
		"no YAML":          "{hunter2",
		"a list":           "- hunter2",
		"a key twice":      "kind: Config\nusers: [{name: u, user: {token: hunter2, token: b}}]",
		"a name twice":     "kind: Config\nusers: [{name: u, user: {token: hunter2}}, {name: u, user: {}}]",
		"no base64":        "kind: Config\nusers: [{name: u, user: {client-key-data: hunter2!}}]",
		"a number":         "kind: Config\nusers: [{name: u, user: {token: 12}}]",
		"no list":          "kind: Config\nusers: {name: hunter2}",
		"no map":           "kind: Config\nusers: [{name: u, user: hunter2}]",
		"another version":  "kind: Config\napiVersion: v2",
		"too large":        "kind: Config\n#" + strings.Repeat("a", kubeconfig.MaxSize),
		"aliases of alias": "kind: Config\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]",
	} {
		if _, err := kubeconfig.Parse([]byte(b)); err == nil || !strings.HasPrefix(err.Error(), "cannot parse kubeconfig: ") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
