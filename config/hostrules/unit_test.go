package hostrules_test

import (
	"testing"

	"github.com/kubewright/kubewright/config/hostrules"
)

// TestDropInsOfComponents checks which drop-ins the kubelet and runtimes cannot have.
func TestDropInsOfComponents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit, name, content string
		ok                  bool
	}{
		{"kubelet.service", "20-memory", "[Service]\nMemoryMin=1G\n", true},
		{"kubelet.service", "20-proxy", "[Service]\nEnvironment=HTTPS_PROXY=http://proxy\nExecStartPre=/bin/true\n", true},
		{"kubelet.service", "10-kubeadm", "[Service]\nMemoryMin=1G\n", false},
		{"containerd.service", "10-kubeadm", "[Service]\nMemoryMin=1G\n", true},
		{"kubelet.service", "x", "[Service]\nExecStart =/bin/x\n", false},
		{"kubelet.service", "x", "[Service]\nEnvironment=\"A=b\" \\\n  'KUBELET_EXTRA_ARGS=--v=4'\n", false},
		{"kubelet.service", "x", "[Unit]\nDescription=ExecStart=\n", true},
		{"crio.service", "x", "[Service]\nExecStart=/bin/x\n", false},
		{"crio.service", "x", "[Service]\nExecStart=\nExecStart=/bin/x\n", true},
	} {
		if why := hostrules.RefusedDropIn(c.unit, c.name, c.content); (why == "") != c.ok {
			t.Errorf("%s %s %q: %q", c.unit, c.name, c.content, why)
		}
	}
	for content, ok := range map[string]bool{
		"[Service]\nNice=1\n": true, "[Service]\nNice=\x001\n": false, "[Service]\nNice=\xff\n": false,
		"[Install]\nAlias=other.service\n": true, "[Install]\nAlias=other.service \\\n kubelet.service\n": false, "[Unit]\nConflicts=sshd.service\n": false,
		"[Service]\nAlias=kubelet.service\n": true,
	} {
		if err := hostrules.CheckDropIn(content); (err == nil) != ok {
			t.Errorf("%q: %v", content, err)
		}
	}
}
