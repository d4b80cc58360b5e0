package viewtest

import (
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

const source = `cluster "prod" {
  kubernetes_version = "1.36.3"
  network {
	pod_subnet     = var.pods
    service_subnet = "10.96.0.0/33"
  }
}

node "w3" {
  adress = "10.0.0.3"
  labels = {
    "a" = "b"
    "c" = "d"
  }
}
`

// Source returns the text of a file of the findings.
func Source(file string) []byte {
	if file != "cluster.hcl" {
		return nil
	}
	return []byte(source)
}

// sourceAt finds text in the source.
func sourceAt(text string) state.Source {
	start := strings.Index(source, text)
	end := start + len(text)
	return state.Source{
		File: "cluster.hcl", Line: 1 + strings.Count(source[:start], "\n"), EndLine: 1 + strings.Count(source[:end], "\n"),
		StartByte: start, EndByte: end,
	}
}

// Findings returns findings with and without a place.
func Findings() diag.Diagnostics {
	return diag.Diagnostics{
		diag.Errorf("Unsupported argument", "An argument named %q is not expected here. Did you mean %q?", "adress", "address").At(sourceAt("adress")).In(sourceAt(`node "w3"`)),
		diag.Errorf("Invalid CIDR", "%q is no network: the prefix of an IPv4 network is at most 32. Services get addresses from this network, which must not overlap with the pods'. Write for example:\n\n  service_subnet = \"10.96.0.0/12\"", "10.96.0.0/33").At(sourceAt(`"10.96.0.0/33"`)).In(sourceAt(`cluster "prod"`)),
		diag.Errorf("Overlapping networks", "The pods' network contains the services' network.").At(sourceAt("var.pods")).With(`var.pods is "10.96.0.0/8"`),
		diag.Warningf("Label is reserved", "Kubelets may not set it.").At(sourceAt("{\n    \"a\" = \"b\"\n    \"c\" = \"d\"\n  }")).In(sourceAt(`node "w3"`)),
		diag.Warningf("Label is reserved", "Kubelets may not set it.").At(sourceAt(`"c"`)),
		diag.Warningf("Label is reserved", "Kubernetes sets it itself.").At(sourceAt(`"d"`)),
		diag.Errorf("Cannot reach host", "cannot connect to 10.77.0.22:22: \x1b[31mno route\x1b[0m to host. Is the host up?").For(state.NodeKeyTarget("worker", "10.77.0.22")),
	}
}
