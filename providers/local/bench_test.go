package local_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/state"
)

// BenchmarkObserve observes as many files as a control plane has.
func BenchmarkObserve(b *testing.B) {
	root := b.TempDir()
	q := state.Query{
		Units: []string{"kubelet.service"}, Ports: []int{6443, 10250}, Commands: []string{"mount", "losetup", "cp"},
		Sysctls: []string{"net.ipv4.ip_forward"}, Modules: []string{"overlay"},
	}
	for i := range 60 {
		name := fmt.Sprintf("/file-%d", i)
		if err := os.WriteFile(root+name, make([]byte, 3000), 0o600); err != nil {
			b.Fatal(err)
		}
		q.Files = append(q.Files, state.FileQuery{Path: name, Read: state.ReadContent})
	}
	h := local.New(shell.Options{Root: root, Unprivileged: true})
	for b.Loop() {
		if _, err := h.Observe(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPreflight observes a host as before a join.
func BenchmarkPreflight(b *testing.B) {
	h := local.New(shell.Options{Unprivileged: true})
	for b.Loop() {
		if _, err := h.Observe(b.Context(), state.Query{Preflight: true, Units: []string{"kubelet.service", "firewalld.service"}}); err != nil {
			b.Fatal(err)
		}
	}
}
