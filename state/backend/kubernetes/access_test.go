package kubernetes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/kubernetes"
	"github.com/kubewright/kubewright/state/backend/kubernetes/kubernetestest"
	"github.com/kubewright/kubewright/state/kubeconfig"
)

// conf writes a kubeconfig, with further JSON in its cluster and its user.
func conf(t *testing.T, path, server, cluster, user string) string {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "k", "cluster": {"server": %q%s}}], "users": [{"name": "u", "user": {"token": ""%s}}],
		"contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}`, server, cluster, user)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// program returns the exec of a user that creates a file when it runs.
func program(ran string) string {
	return fmt.Sprintf(`, "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", "touch %s; exit 1"], "interactiveMode": "Never"}`, ran)
}

// settled creates the backend and reads its state.
func settled(t *testing.T, with backend.Settings, o kubernetes.Operator) error {
	t.Helper()
	with["secret_suffix"] = "prod"
	b, err := kubernetes.New(with, o)
	if err == nil {
		_, err = b.Read(t.Context())
	}
	return err
}

// TestConfiguredKubeconfigUsesInlineDataOnly checks that only the inline data of a kubeconfig that the
// configuration names is used. Every other field is refused by name, and what it refers to is not
// touched.
func TestConfiguredKubeconfigUsesInlineDataOnly(t *testing.T) {
	t.Parallel()
	server := kubernetestest.New(t)
	for _, tt := range []struct{ cluster, user string }{
		{cluster: "certificate-authority"},
		{cluster: "insecure-skip-tls-verify"},
		{cluster: "proxy-url"},
		{cluster: "disable-compression"},
		{cluster: "extensions"},
		{cluster: "anything"},
		{user: "exec"},
		{user: "auth-provider"},
		{user: "tokenFile"},
		{user: "client-certificate"},
		{user: "client-key"},
		{user: "username"},
		{user: "password"},
		{user: "as"},
		{user: "as-uid"},
		{user: "as-groups"},
		{user: "as-user-extra"},
		{user: "extensions"},
		{user: "anything"},
	} {
		dir := t.TempDir()
		ran, pipe := filepath.Join(dir, "ran"), filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		field := func(key string) string {
			switch key {
			case "":
				return ""
			case "exec":
				return program(ran)
			case "auth-provider":
				return `, "auth-provider": {"name": "oidc", "config": {"a": "b"}}`
			case "as-groups":
				return `, "as-groups": ["system:masters"]`
			case "insecure-skip-tls-verify", "disable-compression":
				return `, "` + key + `": true`
			}
			return `, "` + key + `": "` + pipe + `"`
		}
		conf(t, filepath.Join(dir, "kc.yaml"), server.URL, field(tt.cluster), field(tt.user))
		err := settled(t, backend.Settings{"config_path": "kc.yaml"}, kubernetes.Operator{Folder: dir, Dir: dir, Getenv: func(string) string { return "" }})
		want := fmt.Sprintf(`users["u"].%s`, tt.user)
		if tt.user == "" {
			want = fmt.Sprintf(`clusters["k"].%s`, tt.cluster)
		}
		if foreign := (*kubeconfig.ForeignError)(nil); !errors.As(err, &foreign) || strings.Join(foreign.Fields, " ") != want ||
			!strings.Contains(err.Error(), `the backend "kubernetes" does not use its kubeconfig: `) || !strings.Contains(err.Error(), "-backend-config=config_path=") {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the program ran", want)
		}
	}
}

// TestOnlyOperatorKubeconfigMayRunPrograms checks that the operator's own kubeconfig may run programs, and no other
// one, no matter how it is named and where its links lead.
func TestOnlyOperatorKubeconfigMayRunPrograms(t *testing.T) {
	t.Parallel()
	server := kubernetestest.New(t)
	for name, tt := range map[string]struct {
		// path is config_path; kubeconfig and home are KUBECONFIG and HOME. $F is the
		// configuration folder, $H the home, $E a third one.
		path, kubeconfig, home string
		giver                  kubernetes.Giver
		// at is the place of the kubeconfig, and link the place of a link to it.
		at, link string
		runs     bool
	}{
		"beside the configuration":           {path: "kc.yaml", at: "$F/kc.yaml"},
		"in a folder of it":                  {path: "a/kc.yaml", at: "$F/a/kc.yaml"},
		"above it":                           {path: "../E/kc.yaml", at: "$E/kc.yaml"},
		"by an absolute path":                {path: "$E/kc.yaml", at: "$E/kc.yaml"},
		"in the home":                        {path: "~/kc.yaml", at: "$H/kc.yaml", home: "$H"},
		"by a link of the configuration":     {path: "kc.yaml", at: "$E/kc.yaml", link: "$F/kc.yaml"},
		"by a link into the configuration":   {path: "$E/kc.yaml", at: "$F/kc.yaml", link: "$E/kc.yaml"},
		"named by the environment":           {path: "$F/kc.yaml", at: "$F/kc.yaml", giver: kubernetes.Environment, runs: true},
		"relatively by the environment":      {path: "kc.yaml", at: "$F/kc.yaml", giver: kubernetes.Environment},
		"named on the command line":          {path: "kc.yaml", at: "$F/kc.yaml", giver: kubernetes.CommandLine, runs: true},
		"KUBECONFIG":                         {kubeconfig: "$E/kc.yaml", at: "$E/kc.yaml", runs: true},
		"KUBECONFIG in the folder":           {kubeconfig: "$F/kc.yaml", at: "$F/kc.yaml", runs: true},
		"relative KUBECONFIG":                {kubeconfig: "kc.yaml", at: "$F/kc.yaml"},
		"relative KUBECONFIG by a link":      {kubeconfig: "kc.yaml", at: "$E/kc.yaml", link: "$F/kc.yaml"},
		"relative KUBECONFIG elsewhere":      {kubeconfig: "../E/kc.yaml", at: "$E/kc.yaml", runs: true},
		"relative KUBECONFIG beside another": {kubeconfig: "$E/other:kc.yaml", at: "$F/kc.yaml"},
		"~/.kube/config":                     {home: "$H", at: "$H/.kube/config", runs: true},
		"no HOME":                            {home: "", at: "$F/.kube/config"},
		"relative HOME":                      {home: ".", at: "$F/.kube/config"},
		"the configuration names KUBECONFIG": {path: "$E/kc.yaml", kubeconfig: "$E/kc.yaml", at: "$E/kc.yaml", runs: true},
		"the configuration names the home's": {path: "~/.kube/config", home: "$H", at: "$H/.kube/config", runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			ran := filepath.Join(top, "ran")
			place := strings.NewReplacer("$F", filepath.Join(top, "F"), "$E", filepath.Join(top, "E"), "$H", filepath.Join(top, "H"))
			for _, dir := range []string{"F", "E", "H"} {
				if err := os.Mkdir(filepath.Join(top, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			conf(t, place.Replace(tt.at), server.URL, `, "insecure-skip-tls-verify": true`, program(ran))
			if tt.link != "" {
				if err := os.Symlink(place.Replace(tt.at), place.Replace(tt.link)); err != nil {
					t.Fatal(err)
				}
			}
			env := map[string]string{"KUBECONFIG": place.Replace(tt.kubeconfig), "HOME": place.Replace(tt.home), "PATH": os.Getenv("PATH")}
			folder := place.Replace("$F")
			err := settled(t, backend.Settings{"config_path": place.Replace(tt.path)},
				kubernetes.Operator{Folder: folder, Dir: folder, Getenv: func(name string) string { return env[name] }, ConfigPath: tt.giver})
			if err == nil {
				t.Error("the user is accepted")
			}
			if _, statErr := os.Stat(ran); (statErr == nil) != tt.runs {
				t.Errorf("the program ran: %v, want %v: %v", statErr == nil, tt.runs, err)
			}
		})
	}
}

// TestLinkedOperatorKubeconfigResolvesPaths checks that a link in the configuration to the operator's kubeconfig resolves
// relative names beside the operator's file, and not beside the link.
func TestLinkedOperatorKubeconfigResolvesPaths(t *testing.T) {
	t.Parallel()
	server, top := kubernetestest.New(t), t.TempDir()
	folder, own := filepath.Join(top, "folder"), filepath.Join(top, "home", ".kube", "config")
	conf(t, own, server.URL, `, "insecure-skip-tls-verify": true`,
		`, "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "interactiveMode": "Never"}`)
	ran := filepath.Join(top, "ran")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink(own, filepath.Join(folder, "kc.yaml")),
		os.WriteFile(filepath.Join(folder, "login"), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	err := settled(t, backend.Settings{"config_path": "kc.yaml"}, kubernetes.Operator{Folder: folder, Dir: folder, Getenv: func(name string) string {
		return map[string]string{"HOME": filepath.Join(top, "home")}[name]
	}})
	if _, statErr := os.Stat(ran); statErr == nil || err == nil || !strings.Contains(err.Error(), "login") {
		t.Errorf("a program of the configuration: %v, %v", statErr, err)
	}
}

// TestInlineKubeconfigIsSufficient checks that the inline data of a kubeconfig is sufficient, with a path
// relative to the configuration folder.
func TestInlineKubeconfigIsSufficient(t *testing.T) {
	t.Parallel()
	server := kubernetestest.New(t)
	path := server.Kubeconfig(t, server.Token)
	if err := settled(t, backend.Settings{"config_path": filepath.Base(path)}, kubernetes.Operator{Folder: filepath.Dir(path), Dir: t.TempDir()}); err != nil {
		t.Error(err)
	}
}

// TestConfiguredKubeconfigErrors checks the errors for unusable kubeconfigs of the configuration, and that
// they reveal no secrets.
func TestConfiguredKubeconfigErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:                          "it is a named pipe, not a regular file",
		"/dev/zero":                   "a device",
		dir:                           "it is a directory, not a regular file",
		filepath.Join(dir, "nothing"): "no such file",
		conf(t, filepath.Join(dir, "http"), "http://127.0.0.1:1", "", ""):                                       "no URL as in https://",
		conf(t, filepath.Join(dir, "login"), "https://ann:to/ken@api", "", ""):                                  "no URL as in https://",
		conf(t, filepath.Join(dir, "text"), "https://127.0.0.1:1", `, "certificate-authority-data": "t0p"`, ""): "certificate-authority-data is not base64",
	} {
		err := settled(t, backend.Settings{"config_path": path}, kubernetes.Operator{Folder: dir})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "to/ken") || strings.Contains(err.Error(), "t0p") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	context := backend.Settings{"config_path": conf(t, filepath.Join(dir, "kc"), "https://127.0.0.1:1", "", ""), "config_context": "other"}
	if err := settled(t, context, kubernetes.Operator{}); err == nil || !strings.Contains(err.Error(), `the kubeconfig has no context "other"`) {
		t.Error(err)
	}
}
