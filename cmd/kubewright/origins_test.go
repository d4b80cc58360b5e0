package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
)

// manySettings are settings of many kinds for the cluster of crashConfig.
const manySettings = `
  proxy_env = { HTTPS_PROXY = "http://proxy:3128" }
  upload_certs = true
  bootstrap_token {
    token = "abcdef.0123456789abcdef"
    ttl   = "0s"
  }
  controller_manager {
    arg "v" { value = "3" }
  }
  scheduler {
    arg "v" { value = "3" }
  }
  etcd {
    arg "snapshot-count" { value = "1000" }
    extra_env "LEVEL" { value = "1" }
  }
  kubelet {
    config = { maxPods = 100, serializeImagePulls = false }
    arg "v" { value = "2" }
  }
  kube_proxy {
    config = { mode = "nftables" }
  }
  patch {
    target  = "kube-scheduler"
    content = yamlencode({ metadata = { annotations = { "example.com/by" = "us" } } })
  }
  addon "app" {
    manifest = [yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "app", namespace = "default" }, data = { a = "b" } })]
  }
`

// TestServerOfOwnControlPlane: where a control plane speaks to its own API server, the
// line of its address says so, and not that of the shared endpoint.
func TestServerOfOwnControlPlane(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.must(t, "sim", "edit", "10.0.0.12", "file", "/etc/kubernetes/scheduler.conf", "delete")
	f.must(t, "plan", "-out=plan.kwplan")
	saved, err := planfile.Read(filepath.Join(string(f), "plan.kwplan"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	lines, servers := strings.Split(string(text), "\n"), 0
	for _, c := range saved.Plan.Changes {
		for _, a := range c.Attributes {
			if a.Path != "server" || !strings.Contains(a.After.AsString(), "10.0.0.12") {
				continue
			}
			servers++
			if line := a.Origin.Line; line == 0 || !strings.Contains(lines[line-1], "address  = each.value") {
				t.Errorf("%s is said to come from line %d", c.Address, line)
			}
		}
	}
	if servers == 0 {
		t.Error("no server is planned")
	}
}

// TestEveryValueHasItsLine: each value that a plan changes comes with the file and
// the line of the configuration that asks for it, or with the default that it is.
func TestEveryValueHasItsLine(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.replace(t, "  api_server {\n", manySettings+"  api_server {\n    arg \"audit-log-maxage\" { value = \"30\" }\n    extra_env \"LEVEL\" { value = \"1\" }\n")
	f.replace(t, `["api.example.com"]`, `["api.example.com", "api.example.org"]`)
	f.replace(t, `{ "node.example.com/pool" = "general" }`, "{ \"node.example.com/pool\" = \"batch\" }\n  annotations = { \"example.com/by\" = \"us\" }\n  taint \"dedicated\" {\n    value  = \"batch\"\n    effect = \"NoSchedule\"\n  }")
	f.must(t, "plan", "-out=plan.kwplan")
	saved, err := planfile.Read(filepath.Join(string(f), "plan.kwplan"), nil)
	if err != nil {
		t.Fatal(err)
	}
	values, lines := 0, 0
	for _, c := range saved.Plan.Changes {
		for _, a := range c.Attributes {
			if c.Action == planner.Delete || a.After.IsNull() {
				continue
			}
			values++
			if a.Origin.File != "" && a.Origin.Line > 0 {
				lines++
			} else if a.Origin.IsZero() {
				t.Errorf("%s: nothing says where %s comes from", c.Address, a.Path)
			}
		}
	}
	if values < 40 || lines < 30 {
		t.Errorf("of %d values %d have a line: too few to have been planned", values, lines)
	}
}
