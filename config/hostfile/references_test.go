package hostfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hostfile"
	"github.com/kubewright/kubewright/state"
)

const (
	admissionFile = "admission-control-config-file"
	webhookFile   = "audit-webhook-config-file"
)

// TestReferences checks which files the content of an argument's file names.
func TestReferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argument, content string
		want              []hostfile.Reference
	}{
		"a plugin's file, beside the configuration": {
			admissionFile, "plugins: [{name: PodSecurity, path: a.yaml}, {name: ImagePolicyWebhook, path: /etc/b.yaml}]",
			[]hostfile.Reference{{Path: "/etc/x/a.yaml", Argument: "configuration of an admission plugin", At: "plugins[0].path"}, {Path: "/etc/b.yaml", Argument: "configuration of an admission plugin", At: "plugins[1].path"}},
		},
		"a kubeconfig of a plugin within the configuration": {
			admissionFile, "plugins: [{name: ImagePolicyWebhook, configuration: {imagePolicy: {kubeConfigFile: /etc/c.conf}}}]",
			[]hostfile.Reference{{Path: "/etc/c.conf", Argument: webhookFile, At: "plugins[0].configuration.imagePolicy.kubeConfigFile"}},
		},
		"a path within a plugin's own configuration": {admissionFile, "plugins: [{name: Other, configuration: {path: /x}}]", nil},
		"files of a kubeconfig": {
			"authentication-token-webhook-config-file", "clusters: [{cluster: {certificate-authority: ca.crt}}]\nusers: [{user: {client-certificate: /a, client-key: /b, tokenFile: ../c}}]",
			[]hostfile.Reference{{Path: "/etc/x/ca.crt", Argument: "client-ca-file", At: "clusters[0].cluster.certificate-authority"}, {Path: "/a", At: "users[0].user.client-certificate"}, {Path: "/b", At: "users[0].user.client-key"}, {Path: "/etc/c", At: "users[0].user.tokenFile"}},
		},
		"the kubeconfig of a webhook that authorizes": {
			"authorization-config", "authorizers: [{type: Webhook, webhook: {connectionInfo: {type: KubeConfigFile, kubeConfigFile: /d}}}]",
			[]hostfile.Reference{{Path: "/d", Argument: webhookFile, At: "authorizers[0].webhook.connectionInfo.kubeConfigFile"}},
		},
		"no YAML":           {admissionFile, "{", nil},
		"a list":            {admissionFile, "[a]", nil},
		"an empty path":     {admissionFile, "plugins: [{path: ''}]", nil},
		"an unknown form":   {"token-auth-file", "path: /x", nil},
		"a number for path": {admissionFile, "plugins: [{path: 3}]", nil},
	} {
		if got := hostfile.References(c.argument, "/etc/x/file", c.content); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestUsesEnd checks that files which name each other, or themselves, are each used once.
func TestUsesEnd(t *testing.T) {
	t.Parallel()
	files := map[string]hostfile.Content{
		"/a":     {Text: "plugins: [{path: /a}, {path: /b}]"},
		"/b":     {Text: "kubeConfigFile: /b"},
		"/other": {Restarts: []string{"etcd"}},
	}
	var got []string
	for _, u := range hostfile.Uses("kube-apiserver", []state.Arg{{Name: admissionFile, Value: "/a"}}, files) {
		got = append(got, u.Path+" "+u.Argument+" "+u.By)
	}
	want := []string{
		"/a admission-control-config-file ", `/a configuration of an admission plugin "/a" at plugins[0].path`, `/b configuration of an admission plugin "/a" at plugins[1].path`, `/b audit-webhook-config-file "/b" at kubeConfigFile`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	uses := hostfile.Uses("etcd", []state.Arg{{Name: "auth-token", Value: "jwt,pub-key=/p,priv-key=/q,sign-method=RS256"}}, files)
	got = nil
	for _, u := range uses {
		got = append(got, u.Path)
	}
	if !slices.Equal(got, []string{"/p", "/q", "/other"}) {
		t.Errorf("etcd uses %q", got)
	}
}

// TestOwners checks how owners are completed and which are refused.
func TestOwners(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]struct {
		owner string
		ok    bool
	}{
		"":             {"", false},
		"root":         {"root:root", true},
		"0":            {"root:root", true},
		"0:0":          {"root:root", true},
		"65532":        {"65532:65532", true},
		"1000:adm":     {"1000:adm", true},
		"4294967294":   {"4294967294:4294967294", true},
		"4294967295":   {"4294967295:4294967295", false},
		"99999999999":  {"99999999999:99999999999", false},
		"007":          {"007:007", false},
		"+1":           {"+1:+1", false},
		"-1":           {"-1:-1", false},
		"root:":        {"root:", false},
		":root":        {":root", false},
		"a b":          {"a b:a b", false},
		"root:root:x":  {"root:root:x", false},
		"$(id -u):adm": {"$(id -u):adm", false},
	} {
		got := hostfile.CompleteOwner(given)
		if why := hostfile.RefusedOwner(got); got != want.owner || (why == "") != want.ok {
			t.Errorf("%q becomes %q, refused because it %s", given, got, why)
		}
	}
}

// TestVolumeNames checks that volumes are named after their path, with a digest where that is no name or is
// taken.
func TestVolumeNames(t *testing.T) {
	t.Parallel()
	for p, prefix := range map[string]string{"/etc/audit/Policy.yaml": "etc-audit-policy-yaml", "/taken": "taken-", "/etcd/data": "etcd-data-", "/..": ""} {
		got := hostfile.VolumeName(p, func(name string) bool { return name == "taken" })
		if !strings.HasPrefix(got, prefix) || got == "" || got[0] == '-' {
			t.Errorf("the volume of %s is called %s", p, got)
		}
	}
}
