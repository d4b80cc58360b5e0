package lab

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
)

// TestEtcdKeysAreTrustedMutually checks that members and clients of the operator's etcd trust each other, and
// reject peers without a certificate of its CA.
func TestEtcdKeysAreTrustedMutually(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	members := []etcdMember{{"etcd1", l.addresses(etcdOctet + 1)[0]}, {"etcd2", l.addresses(etcdOctet + 2)[0]}}
	if err := l.writeEtcdKeys(members); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(l.path("etcd", "member.crt"), l.path("etcd", "member.key"))
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.Leaf.IPAddresses; len(got) != 3 || got[1].String() != "10.77.5.32" {
		t.Errorf("the members' certificate is of %v", got)
	}
	e := Etcd{CA: l.path("etcd", "ca.crt"), Cert: l.path("etcd", "client.crt"), Key: l.path("etcd", "client.key")}
	client, err := e.client()
	if err != nil {
		t.Fatal(err)
	}
	roots := client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	defer server.Close()
	client.Transport.(*http.Transport).TLSClientConfig.ServerName = "10.77.5.31"
	if err := healthy(t.Context(), client, server.URL); err == nil || err.Error() != "404 Not Found: 404 page not found\n" {
		t.Errorf("the client is rejected: %v", err)
	}
	if stat, err := os.Stat(e.Key); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("key: %v, %v", stat.Mode(), err)
	}
}

func TestEtcdArguments(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	l.record.Families = IPv6
	m := etcdMember{"etcd1", l.addresses(etcdOctet + 1)[0]}
	args := l.etcdArgs(m, []etcdMember{m, {"etcd2", l.addresses(etcdOctet + 2)[0]}})
	for _, want := range []string{
		"--initial-cluster=etcd1=https://[fd00:10:77:5::1f]:2380,etcd2=https://[fd00:10:77:5::20]:2380",
		"--listen-client-urls=https://[fd00:10:77:5::1f]:2379", "--client-cert-auth",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%v do not have %s", args, want)
		}
	}
}
