package sshconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sshconfig"
)

// TestWhatIsNotEvaluatedIsRefusedForItsHosts checks that a criterion that is not evaluated refuses
// those hosts alone for which it decides about a setting that matters.
func TestWhatIsNotEvaluatedIsRefusedForItsHosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Match exec \"true\"\n Port 1\n":                                  "Port is set where Match exec (",
		"Match exec \"true\"\n SendEnv LANG\n":                            "",
		"Port 2\nMatch exec \"true\"\n Port 1\n":                          "",
		"Match host other exec \"true\"\n Port 1\n":                       "",
		"Match exec \"true\" host other\n Port 1\n":                       "",
		"Match exec \"true\" !user me\n Port 1\n":                         "",
		"Match exec \"true\" host n1.lab\n Port 1\n":                      "Match exec (",
		"Match !exec \"true\"\n User x\n":                                 "User is set where Match exec (",
		"Match localnetwork 10.0.0.0/8\n HostName x\n":                    "Match localnetwork (",
		"Match sessiontype shell\n ProxyJump x\n":                         "Match sessiontype (",
		"Match command x version y\n IdentityFile x\n":                    "Match command (",
		"Match exec \"true\"\n IdentityFile /x\nHost *\n IdentityFile /y": "IdentityFile is set where",
		"Host other\n Include FILE\nHost *\n User me\n":                   "",
		"Include FILE\n":                       "FILE:2: Port is set where Match exec (FILE:1) is not evaluated",
		"Match exec x\n Include FILE\n":        ":1) is not evaluated",
		"Match exec x\nHost n1.lab\n Port 1\n": "",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		config := filepath.Join(dir, "config")
		for path, content := range map[string]string{file: "Match exec \"true\"\n Port 1\n", config: text} {
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "FILE", file)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := sshconfig.Read(dir, sshconfig.Source{Path: config})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Settings(sshconfig.Asked{Name: "n1.lab", LocalUser: "me"})
		if want = strings.ReplaceAll(want, "FILE", file); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestTags checks Tag and Match tagged, which not every release of OpenSSH has.
func TestTags(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("Host n*\n Tag lab\nMatch tagged lab,test\n Port 1\nMatch tagged \"\"\n Port 3\nHost *\n Port 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sshconfig.Read("/", sshconfig.Source{Path: config}); err == nil || !strings.Contains(err.Error(), "config:5: criterion tagged of Match has no value") {
		t.Errorf("an empty tag: %v", err)
	}
	if err := os.WriteFile(config, []byte("Host n*\n Tag lab\nMatch tagged lab,test\n Port 1\nHost *\n Port 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := sshconfig.Read("/", sshconfig.Source{Path: config})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"n1": "1", "other": "2"} {
		s, err := c.Settings(sshconfig.Asked{Name: name})
		if err != nil || s.Get("port") != want {
			t.Errorf("%s: port %q, %v, want %s", name, s.Get("port"), err, want)
		}
	}
}

// TestSystemConfigurationComesSecond checks that the machine's own configuration counts after the
// user's.
func TestSystemConfigurationComesSecond(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user, system := filepath.Join(dir, "user"), filepath.Join(dir, "system")
	for path, text := range map[string]string{user: "Host a\n Port 1\n", system: "Port 2\nUser all\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := sshconfig.Read(dir, sshconfig.Source{Path: user}, sshconfig.Source{Path: system, System: true}, sshconfig.Source{Path: filepath.Join(dir, "absent")})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1 all", "b": "2 all"} {
		s, err := c.Settings(sshconfig.Asked{Name: name})
		if err != nil || s.Get("port")+" "+s.Get("user") != want {
			t.Errorf("%s: %q %q, %v, want %s", name, s.Get("port"), s.Get("user"), err, want)
		}
	}
}
