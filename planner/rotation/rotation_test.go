package rotation_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

const (
	pki = topology.KubeadmPKI
	ca  = pki + "/ca"
)

// requests makes the operator request rotations.
func requests(names ...string) tt.Change {
	return func(v *topology.Fleet) {
		for _, name := range names {
			v.Rotate = append(v.Rotate, topology.Rotation{Cluster: state.ClusterTarget(tt.Label), CA: name})
		}
	}
}

// holds makes a host hold CAs in a file.
func holds(t state.Target, path string, cas ...string) tt.Change {
	return tt.File(t, path, func(f *state.FileReport) {
		f.Exists, f.Certificates = true, nil
		for _, ca := range cas {
			f.Certificates = append(f.Certificates, state.CertificateInfo{CommonName: "kubernetes", IsCA: true, KeyDigest: ca, IssuerKeyDigest: ca, NotAfter: tt.Now.AddDate(9, 0, 0)})
		}
	})
}

// next makes a control plane have the new CA and its key.
func next(t state.Target, name string) tt.Change {
	return func(v *topology.Fleet) {
		holds(t, ca+"-next.crt", name)(v)
		tt.File(t, ca+"-next.key", func(f *state.FileReport) { f.Exists = true })(v)
	}
}

// expiring changes when the CA in a file of the primary expires.
func expiring(path string, at time.Time) tt.Change {
	return tt.File(tt.CP(1), path, func(f *state.FileReport) {
		if !f.Exists {
			f.Exists, f.Certificates = true, []state.CertificateInfo{{CommonName: "kubernetes", IsCA: true, KeyDigest: strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".crt")}}
		}
		certs := []state.CertificateInfo{f.Certificates[0]}
		certs[0].NotAfter = at
		f.Certificates = certs
	})
}

// signedBy makes the kubelet of a node have a certificate of a CA.
func signedBy(t state.Target, ca string) tt.Change {
	return tt.File(t, topology.KubeletClientCert, func(f *state.FileReport) {
		certs := []state.CertificateInfo{f.Certificates[0]}
		certs[0].IssuerKeyDigest = ca
		f.Certificates = certs
	})
}

// progress returns a rotation in one line.
func progress(list []*topology.CARotation) string {
	var out []string
	for _, r := range list {
		text := fmt.Sprintf("%s: %s to %q on %s", r.Name, r.Old, r.New, topology.ShortName(r.Source))
		for _, flag := range []struct {
			set  bool
			name string
		}{{r.Begun, "begun"}, {r.Reissuing, "reissuing"}, {r.Dropping, "dropping"}} {
			if flag.set {
				text += ", " + flag.name
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestRotationsFindsProgress checks which CAs are rotated, and how far the rotation of each has got,
// by the files on the hosts alone.
func TestRotationsFindsProgress(t *testing.T) {
	t.Parallel()
	both := func(targets ...state.Target) tt.Change {
		return func(v *topology.Fleet) {
			for _, t := range targets {
				holds(t, ca+".crt", "ca-1", "ca-2")(v)
			}
		}
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"nothing is requested", nil, ""},
		{"the CA expires in ten days", []tt.Change{expiring(ca+".crt", tt.Now.AddDate(0, 0, 10))}, ""},
		{"it is requested", []tt.Change{requests("ca")}, `ca: ca-1 to "" on cp1`},
		{"a CA that no host has is requested", []tt.Change{requests("front-proxy-ca")}, ""},
		{"several are requested", []tt.Change{requests("etcd-ca", "ca"), holds(tt.CP(1), pki+"/etcd/ca.crt", "etcd-1")}, `ca: ca-1 to "" on cp1; etcd-ca: etcd-1 to "" on cp1`},
		{"the new CA is made", []tt.Change{next(tt.CP(1), "ca-2"), both(tt.CP(1))}, `ca: ca-1 to "ca-2" on cp1, begun`},
		{"only another control plane has the new CA", []tt.Change{next(tt.CP(2), "ca-2"), both(tt.CP(1), tt.CP(2))}, `ca: ca-1 to "ca-2" on cp2, begun`},
		{"a file of this name that no component trusts", []tt.Change{next(tt.CP(1), "ca-9")}, ""},
		{"the new CA without its key", []tt.Change{holds(tt.CP(1), ca+"-next.crt", "ca-2"), both(tt.CP(1))}, ""},
		{"a kubelet has a certificate of the new CA", []tt.Change{next(tt.CP(1), "ca-2"), both(tt.CP(1), tt.CP(2)), signedBy(tt.W(1), "ca-2")}, `ca: ca-1 to "ca-2" on cp1, begun, reissuing`},
		{"a control plane has dropped the old CA", []tt.Change{next(tt.CP(1), "ca-2"), both(tt.CP(1)), holds(tt.CP(2), ca+".crt", "ca-2")}, `ca: ca-1 to "ca-2" on cp1, begun, reissuing, dropping`},
		{"a control plane whose CA file is lost", []tt.Change{next(tt.CP(1), "ca-2"), both(tt.CP(2)), holds(tt.CP(1), ca+".crt"), holds(tt.CP(1), ca+"-old.crt", "ca-1")}, `ca: ca-1 to "ca-2" on cp1, begun`},
		{"the command is repeated while only its files remain", []tt.Change{
			requests("ca"), holds(tt.CP(1), ca+".crt", "ca-2"), holds(tt.CP(2), ca+".crt", "ca-2"), holds(tt.CP(1), ca+"-next.crt", "ca-2"),
		}, ""},
		{"an expired CA was replaced since", []tt.Change{next(tt.CP(2), "ca-2"), both(tt.CP(2)), holds(tt.CP(1), ca+".crt", "ca-3")}, ""},
		{"the cluster is destroyed", []tt.Change{requests("ca"), func(v *topology.Fleet) { v.Destroy = true }}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := progress(rotation.Rotations(tt.Running(2, 1, c.changes...).Clusters[0])); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestExpiredCAsAreReplacedAtOnce checks which CAs are replaced without a rotation.
func TestExpiredCAsAreReplacedAtOnce(t *testing.T) {
	t.Parallel()
	gone, soon := tt.Now.Add(-time.Hour), tt.Now.AddDate(0, 0, 10)
	proxy := pki + "/front-proxy-ca"
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    map[string]string
	}{
		{"it has expired and is requested", []tt.Change{requests("ca"), expiring(ca+".crt", gone)}, map[string]string{ca: "ca-1"}},
		{"it has expired and is not requested", []tt.Change{expiring(ca+".crt", gone)}, nil},
		{"it expires in ten days", []tt.Change{requests("ca"), expiring(ca+".crt", soon)}, nil},
		{"the front proxy's, without which the API answers", []tt.Change{requests("front-proxy-ca"), expiring(proxy+".crt", gone)}, nil},
		{"both", []tt.Change{requests("ca", "front-proxy-ca"), expiring(ca+".crt", gone), expiring(proxy+".crt", gone)}, map[string]string{ca: "ca-1", proxy: "front-proxy-ca"}},
		{"the new one of its rotation has signed everything", []tt.Change{requests("ca"), func(v *topology.Fleet) {
			expiring(ca+".crt", gone)(v)
			tt.File(tt.CP(1), ca+".crt", func(f *state.FileReport) {
				f.Certificates = append(f.Certificates, state.CertificateInfo{CommonName: "kubernetes", IsCA: true, KeyDigest: "ca-2", NotAfter: tt.Now.AddDate(9, 0, 0)})
			})(v)
			for _, leaf := range []string{"apiserver", "apiserver-kubelet-client"} {
				tt.File(tt.CP(1), pki+"/"+leaf+".crt", func(f *state.FileReport) {
					f.Exists, f.Certificates = true, []state.CertificateInfo{{CommonName: leaf, IssuerKeyDigest: "ca-2"}}
				})(v)
			}
		}}, nil},
		{"the cluster is destroyed", []tt.Change{requests("ca"), expiring(ca+".crt", gone), func(v *topology.Fleet) { v.Destroy = true }}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := rotation.ExpiredCAs(tt.Running(1, 1, c.changes...).Clusters[0]); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestParseRotation checks which texts name a rotation.
func TestParseRotation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cluster.prod/ca": "cluster.prod/ca", "cluster.prod/service-account": "cluster.prod/service-account",
		"cluster.prod": "", `node.cp["cp1"]/ca`: "", "prod/ca": "", "": "",
	} {
		r, ok := rotation.ParseRotation(text)
		if ok != (want != "") || ok && r.String() != want {
			t.Errorf("%q: got %s, %v, want %q", text, r, ok, want)
		}
	}
}
