package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// TestConnectionIsRemembered: what the state keeps of a connection reaches the host as
// before, by every word that is said of it but passwords, which it does not keep.
func TestConnectionIsRemembered(t *testing.T) {
	t.Parallel()
	hop := config.Connection{
		Type: "ssh", Host: "gate.example.com", Port: 2222, User: "jump", PrivateKeys: []string{"~/.ssh/a", "b"}, Certificate: "b-cert.pub", Agent: true,
		HostKeys: []string{"ssh-ed25519 AAAA"}, KnownHosts: []string{"known"}, AcceptNewHostKey: true, SSHConfig: "none",
	}
	full := hop
	full.Host, full.Bastions, full.Timeout = "cp1", []config.Connection{hop, {Type: "ssh", Host: "inner"}}, 90*time.Second
	for field, v := range reflect.ValueOf(full).Fields() {
		if v.IsZero() && field.Name != "SudoPassword" {
			t.Errorf("nothing is said here of %s", field.Name)
		}
	}
	other := full
	other.Timeout = 30 * time.Second // as long as without a word, but not for an OpenSSH configuration to say
	for name, c := range map[string]config.Connection{
		"all that can be said": full,
		"said all the same":    other,
		"defaults":             config.NewNode(state.NodeTarget("n"), "c", config.Worker, "192.0.2.1").Connection,
	} {
		if got := config.ConnectionFromValue(c.ToValue()); !reflect.DeepEqual(got, c) {
			t.Errorf("%s: it is reached by\n%+v\nand was by\n%+v", name, got, c)
		}
	}
	full.SudoPassword = state.NewSecret([]byte("hunter2"))
	if !full.ToValue().Equal(func() state.Value { c := full; c.SudoPassword = state.Secret{}; return c.ToValue() }()) {
		t.Error("the state keeps something of the password")
	}
}
