package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/state/growth"
)

// manyNodes is a simulated cluster of three control planes and a given number of workers.
const manyNodes = `
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
  network { pod_subnet = "10.128.0.0/9" }
}

connection { type = "sim" }

node "cp" {
  for_each = { cp1 = "10.0.0.11", cp2 = "10.0.0.12", cp3 = "10.0.0.13" }
  cluster  = cluster.prod
  role     = "control-plane"
  address  = each.value
}

node "worker" {
  for_each = { for i in range(%d) : format("w%%05d", i) => format("10.1.%%d.%%d", floor(i / 256), i %% 256) }
  cluster  = cluster.prod
  role     = "worker"
  address  = each.value
}
`

// BenchmarkPlanNew measures the whole command for a cluster that does not exist yet, from
// reading files to the last line of output.
func BenchmarkPlanNew(b *testing.B) {
	growth.Run(b, "nodes", []int{100, 1000}, func(b *testing.B, nodes int) func() {
		dir := operatorFolder(b, nodes)
		return func() { command(b, dir, 2, "plan", "-detailed-exitcode") }
	})
}

// BenchmarkPlanUnchanged measures the whole command when there is nothing to do. Reading
// the simulated world accounts for part of the time.
func BenchmarkPlanUnchanged(b *testing.B) {
	growth.Run(b, "nodes", []int{100, 1000}, func(b *testing.B, nodes int) func() {
		dir := operatorFolder(b, nodes)
		command(b, dir, 0, "apply", "-auto-approve")
		return func() { command(b, dir, 0, "plan", "-detailed-exitcode") }
	})
}

func operatorFolder(b *testing.B, nodes int) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.hcl"), fmt.Appendf(nil, manyNodes, nodes-3), 0o600); err != nil {
		b.Fatal(err)
	}
	return dir
}

// command runs kubewright in this process and requires the exit code.
func command(b *testing.B, dir string, code int, args ...string) {
	b.Helper()
	var said strings.Builder
	got := cli.Main(&console.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &said, Getenv: func(string) string { return "" },
		Dir: dir, Size: func() (int, int) { return 0, 0 }, Who: "bench",
		Now:   func() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) },
		NewID: func() string { return strings.Repeat("0", 32) },
	})
	if got != code {
		b.Fatalf("kubewright %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, said.String())
	}
}
