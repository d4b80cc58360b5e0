package ssh_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/growth"
)

// BenchmarkObserve connects to hosts, all at once, observes as much on each as a worker
// has, and closes the connections. The hosts are processes of OpenSSH's server on this
// machine, and share its cores.
func BenchmarkObserve(b *testing.B) {
	growth.Run(b, "hosts", []int{1, 5, 20, 50}, func(b *testing.B, hosts int) func() {
		target := openSSH(b, "MaxStartups 1000")
		o := ownRoot(b)
		q := workerQuery(b, o.Root)
		return func() {
			var wg sync.WaitGroup
			for range hosts {
				wg.Go(func() { observe(b, target, o, q) })
			}
			wg.Wait()
		}
	})
}

func observe(b *testing.B, target ssh.Target, o shell.Options, q state.Query) {
	c, err := ssh.Dial(b.Context(), target)
	if err != nil {
		b.Error(err)
		return
	}
	h := ssh.NewHost(c, o)
	if r, err := h.Observe(b.Context(), q); err != nil || len(r.Files) < len(q.Files) {
		b.Error(err)
	}
	if err := h.Close(); err != nil {
		b.Error(err)
	}
}

// workerQuery queries as many files, units and settings as a worker has.
func workerQuery(b *testing.B, root string) state.Query {
	q := state.Query{
		Units: []string{"kubelet.service"}, Commands: []string{"mount", "losetup", "cp"},
		Sysctls: []string{"net.ipv4.ip_forward", "kernel.panic", "vm.overcommit_memory"},
	}
	for i := range 24 {
		name := fmt.Sprintf("/file-%d", i)
		read := state.ReadStat
		if i%4 == 0 {
			read = state.ReadContent
		}
		if err := os.WriteFile(root+name, make([]byte, 1000), 0o600); err != nil {
			b.Fatal(err)
		}
		q.Files = append(q.Files, state.FileQuery{Path: name, Read: read})
	}
	return q
}
