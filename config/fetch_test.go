package config_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
)

// TestFetchRefusesLocalAddresses checks that hosts fetch only from names and addresses of other machines,
// however an address is written.
func TestFetchRefusesLocalAddresses(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"pkgs.k8s.io", "mirror", "mirror.corp.internal", "mirror.example.com.", "x_y.example.com", "10.0.0.5", "192.168.1.1", "100.64.0.1", "[fd00:77::b]", "2001:db8::1",
		"localhost.example.com", "metadata.example.com", "1.example.com", "0x1.example.com", "64:ff9b::a00:5",
	} {
		if why := config.Unfetchable(host); why != "" {
			t.Errorf("%s: it %s", host, why)
		}
	}
	for _, host := range []string{
		"", "localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "metadata", "metadata.google.internal", "Metadata.Google.Internal.",
		"instance-data", "127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0177.0.0.1", "0", "0.0.0.0", "169.254.169.254", "169.254.43518", "0xa9fea9fe",
		"[::1]", "::", "[fe80::1]", "fe80::1%eth0", "::ffff:127.0.0.1", "[::ffff:a9fe:a9fe]", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::127.0.0.1",
		"[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "ff02::1", "１６９.254.169.254", "exam ple", "a@b", "a%31",
	} {
		if config.Unfetchable(host) == "" {
			t.Errorf("%q may be fetched from", host)
		}
	}
	for host, want := range map[string]string{
		"127.8.8.8":       "is a loopback address, which means the host itself",
		"[::1]":           "is a loopback address, which means the host itself",
		"239.1.2.3":       "is a multicast address",
		"ff02::1":         "is a multicast address",
		"169.254.169.254": "is a link-local address, where metadata services are",
		"100.100.100.200": "is the address of a metadata service",
	} {
		if why := config.Unfetchable(host); why != want {
			t.Errorf("%s: got %q, want %q", host, why, want)
		}
	}
}
