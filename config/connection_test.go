package config_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// TestRecordedConnectionReachesHost checks that a recorded connection reaches the host as before: it
// has every field except passwords.
func TestRecordedConnectionReachesHost(t *testing.T) {
	t.Parallel()
	hop := config.Connection{
		Type: "ssh", Host: "gate.example.com", Port: 2222, User: "jump", PrivateKeys: []string{"~/.ssh/a", "b"}, Certificate: "b-cert.pub", Agent: true,
		HostKeys: []string{"ssh-ed25519 AAAA"}, KnownHosts: []string{"known"}, AcceptNewHostKey: true, SSHConfig: "none",
	}
	full := hop
	full.Host, full.Bastions, full.Timeout = "cp1", []config.Connection{hop, {Type: "ssh", Host: "inner"}}, 90*time.Second
	for field, v := range reflect.ValueOf(full).Fields() {
		if v.IsZero() && field.Name != "SudoPassword" {
			t.Errorf("the test does not set %s", field.Name)
		}
	}
	other := full
	other.Timeout = 30 * time.Second // same as the default, but the OpenSSH configuration no longer decides
	for name, c := range map[string]config.Connection{
		"every field is set": full,
		"the default is set": other,
		"defaults":           config.NewNode(state.NodeTarget("n"), "c", config.Worker, "192.0.2.1").Connection,
	} {
		if got := config.ConnectionFromValue(c.ToValue()); !reflect.DeepEqual(got, c) {
			t.Errorf("%s: the connection is\n%+v\nand was\n%+v", name, got, c)
		}
	}
	full.SudoPassword = state.NewSecret([]byte("hunter2"))
	if !full.ToValue().Equal(func() state.Value { c := full; c.SudoPassword = state.Secret{}; return c.ToValue() }()) {
		t.Error("the state keeps something of the password")
	}
}
