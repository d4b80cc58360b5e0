package phases_test

import (
	"path"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// put makes a file of the user's on a host, with its folder.
func (o *operator) put(address, file, text string) {
	o.t.Helper()
	_, err := o.world.Host(address).Perform(o.t.Context(), providers.Batch{Operations: []planner.Operation{
		planner.EnsureDirectory{Path: path.Dir(file), Mode: "0750", Owner: "root:root"},
		planner.WriteFile{Path: file, Mode: "0640", Owner: "root:root", Content: planner.Content{Inline: text}},
	}})
	o.must(err)
}

// TestDestroyLeavesTheUsersFiles: what stood beside the certificates before
// stands there afterwards.
func TestDestroyLeavesTheUsersFiles(t *testing.T) {
	t.Parallel()
	for name, external := range map[string]*config.ExternalEtcd{
		"stacked etcd": nil, "external etcd": {Endpoints: []string{"https://etcd.example.com:2379"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(1, 1))
			o.config.Clusters[0].Etcd.External = external
			fresh := o.listings()
			for _, address := range []string{"10.0.0.11", "10.0.0.21"} {
				o.put(address, "/etc/kubernetes/pki/etcd/notes", "mine")
			}
			before := o.listings()
			if before == fresh {
				t.Fatal("the user has no files")
			}
			o.must(o.apply())
			o.wantNothing()
			o.destroy = true
			o.must(o.apply())
			// The folder of marks came with the first batch, which was the user's.
			before = strings.ReplaceAll(before, "file /var/lib/kubewright directory 0700 root:root\n", "")
			if after := o.listings(); after != before {
				t.Errorf("hosts are not as they were:\n%s", udiff.Unified("before", "after", before, after))
			}
		})
	}
}

// TestDestroyTakesTheCertificatesFolder: one of the cluster's own goes as well.
func TestDestroyTakesTheCertificatesFolder(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	o.config.Clusters[0].Certificates.Dir = "/var/lib/prod/pki"
	before := o.listings()
	o.must(o.apply())
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts are not as they were:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestDestroyTakesBackWhatTheKubeletToldLogind: the kubelet itself never does.
func TestDestroyTakesBackWhatTheKubeletToldLogind(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"shutdownGracePeriod": "60s"})
	before := o.listings()
	o.must(o.apply())
	if !strings.Contains(o.listings(), "99-kubelet.conf") {
		t.Fatal("the kubelet has told logind nothing")
	}
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts are not as they were:\n%s", udiff.Unified("before", "after", before, after))
	}
}
