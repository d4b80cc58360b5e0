// Package trace compares simulated hosts with real ones. A life cycle of a cluster (bootstrapped,
// changed by hand, changed in its configuration, smaller, larger, destroyed) was run on real
// hosts, and life.txt records what kubewright planned at each point: which steps in which order,
// and every operation of each. A plan depends only on the configuration and on the observation,
// so simulated hosts with the same life cycle have to result in the same plans; and the next run
// on real hosts has to result in the recorded ones.
//
// Values that differ between clusters are normalized: addresses, names and subnets of the place
// are replaced by their purpose; contents by their digest; random values, and the previous
// content of a host, are omitted.
package trace

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Recorded is the life cycle recorded on real hosts, one block of text per act.
//
//go:embed life.txt
var Recorded string

// A Place is where a life cycle runs.
type Place struct {
	// Endpoint is the name of the cluster's endpoint, PodSubnet the subnet of its pods.
	Endpoint, PodSubnet string
	// Addresses are the addresses of the hosts cp1, cp2, cp3, w1 and w2.
	Addresses map[string]string
	// Connection is the connection block for the hosts.
	Connection string
}

// An act is one point of the life cycle: something is changed by hand or in the configuration,
// then kubewright plans, and applies that plan.
type act struct {
	name string
	// byHand are the manual changes before the plan.
	byHand []Deed
	// planes and workers are the numbers of configured hosts of each kind.
	planes, workers int
	// changed reports whether three settings differ from their initial values.
	changed bool
	// plan are the arguments of the plan command.
	plan []string
}

// A Deed is a manual change on a host.
type Deed struct {
	Host string
	// Shell makes the change on a real host, and returns when it has taken effect.
	Shell string
	// Edit are the arguments of kubewright sim edit for the same change on a simulated host.
	Edit []string
}

// An Operator runs a life cycle at a place.
type Operator interface {
	// Do makes a manual change.
	Do(Deed)
	// Write writes the configuration to the place where commands read it.
	Write(configuration string)
	// Run runs a command of kubewright that has to succeed, and returns its output.
	Run(args ...string) string
}

// Lead runs the life cycle, and returns it in the form in which it is recorded.
func Lead(p Place, o Operator) (string, error) {
	var life strings.Builder
	for _, act := range acts() {
		for _, deed := range act.byHand {
			o.Do(deed)
		}
		o.Write(act.configuration(p))
		o.Run(append([]string{"plan", "-out=plan"}, act.plan...)...)
		block, err := act.block(p, document(o.Run("show", "-json", "plan")))
		if err != nil {
			return "", err
		}
		life.WriteString(block)
		o.Run("apply", "-auto-approve", "plan") // nothing authenticates the very first plan
	}
	return life.String(), nil
}

// acts returns the acts of the life cycle.
func acts() []act {
	return []act{
		{name: "founded", planes: 3, workers: 2},
		{name: "changed by hand", planes: 3, workers: 2, byHand: byHand()},
		{name: "changed", planes: 3, workers: 2, changed: true},
		{name: "a worker and a control plane leave", planes: 2, workers: 1, changed: true},
		{name: "both come back", planes: 3, workers: 2, changed: true},
		{name: "destroyed", planes: 3, workers: 2, changed: true, plan: []string{"-destroy"}},
	}
}

const (
	manifests     = "/etc/kubernetes/manifests/"
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	balancerLabel = "node.kubernetes.io/exclude-from-external-load-balancers"
)

func byHand() []Deed {
	return []Deed{
		{
			Host:  "cp1",
			Shell: "kubectl --kubeconfig /etc/kubernetes/admin.conf label node cp1 " + balancerLabel + "-",
			Edit:  []string{"label", "cp1", balancerLabel + "-"},
		},
		{
			Host: "cp3",
			// The command returns when the API shows the new pod as ready: a plan that sees the
			// old one orders its restarts differently.
			Shell: "sed -i 's/- --secure-port=6443/&\\n    - --request-timeout=59s/' " + manifests + "kube-apiserver.yaml && " +
				"timeout 240 sh -c 'until kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get pod kube-apiserver-cp3 -o " +
				`"jsonpath={.spec.containers[0].command}{.status.conditions[?(@.type==\"Ready\")].status}" ` +
				"| grep -q request-timeout=59s.*True; do sleep 0.5; done'",
			Edit: []string{"file", manifests + "kube-apiserver.yaml", "set-arg", "request-timeout=59s"},
		},
		{
			Host:  "w1",
			Shell: "sed -i 's/^rotateCertificates: true/&\\nmaxPods: 50/' " + kubeletConfig,
			Edit:  []string{"yaml", kubeletConfig, "set", "maxPods=50"},
		},
		{
			Host:  "w2",
			Shell: "systemctl disable kubelet",
			Edit:  []string{"unit", "kubelet", "disable"},
		},
		{
			Host:  "cp2",
			Shell: "rm /etc/kubernetes/pki/apiserver-kubelet-client.crt",
			Edit:  []string{"file", "/etc/kubernetes/pki/apiserver-kubelet-client.crt", "delete"},
		},
	}
}

// configuration returns the HCL of an act.
func (a act) configuration(p Place) string {
	arg, maxPods, pool := "30", 100, "general"
	if a.changed {
		arg, maxPods, pool = "31", 90, "batch"
	}
	return fmt.Sprintf(`cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "%s:6443"
  network {
    pod_subnet = "%s"
  }
  api_server {
    arg "audit-log-maxage" { value = "%s" }
  }
  kubelet {
    config = {
      failCgroupV1 = false
      maxPods      = %d
      # The hosts of a lab share one disk, which may be as full as it likes.
      evictionHard                = { "imagefs.available" = "0%%", "nodefs.available" = "0%%", "nodefs.inodesFree" = "0%%" }
      imageGCHighThresholdPercent = 100
    }
  }
  kube_proxy {
    config = { conntrack = { maxPerCore = 0, min = 0, tcpEstablishedTimeout = "0s", tcpCloseWaitTimeout = "0s" } }
  }
}

node "cp" {
  for_each = %s
  cluster = cluster.prod
  role    = "control-plane"
  name    = each.key
  address = each.value
}

node "worker" {
  for_each = %s
  cluster = cluster.prod
  role    = "worker"
  name    = each.key
  address = each.value
  labels  = { "node.example.com/pool" = "%s" }
}

%s
`, p.Endpoint, p.PodSubnet, arg, maxPods, p.hosts("cp", a.planes), p.hosts("w", a.workers), pool, p.Connection)
}

// hosts returns an HCL object of the first n hosts of a kind.
func (p Place) hosts(kind string, n int) string {
	var b strings.Builder
	for i := range n {
		name := fmt.Sprint(kind, i+1)
		fmt.Fprintf(&b, " %s = %q,", name, p.Addresses[name])
	}
	return "{" + b.String() + " }"
}

// document returns a plan as JSON without the warnings before it.
func document(shown string) []byte {
	if i := strings.Index(shown, "\n{"); i >= 0 && !strings.HasPrefix(shown, "{") {
		shown = shown[i+1:]
	}
	return []byte(shown)
}

// block returns an act as it is recorded: its name, and the steps of its plan.
func (a act) block(p Place, planJSON []byte) (string, error) {
	var plan struct {
		Steps []map[string]any `json:"steps"`
	}
	if err := json.Unmarshal([]byte(p.general(string(planJSON))), &plan); err != nil {
		return "", fmt.Errorf("cannot read the plan of %q: %w", a.name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "== %s\n", a.name)
	for _, s := range plan.Steps {
		line := fmt.Sprint(s["id"])
		for _, key := range []string{"via", "needs", "limits", "gates", "impact"} {
			if v, has := s[key]; has && !(key == "impact" && s["phase"] == "drain") { // where pods run is the scheduler's choice
				line += fmt.Sprintf(" %s=%s", key, compact(v))
			}
		}
		fmt.Fprintln(&b, line)
		if expect, has := s["expect"].(map[string]any); has {
			fmt.Fprintln(&b, "  expects", strings.Join(slices.Sorted(maps.Keys(expect)), " "))
		}
		operations, _ := s["operations"].([]any)
		for _, o := range operations {
			op, _ := o.(map[string]any)
			if ofTheHost(fmt.Sprint(s["phase"]), op) {
				continue
			}
			name := op["op"]
			delete(op, "op")
			delete(op, "done_when") // follows from the rest
			fmt.Fprintf(&b, "  %s %s\n", name, compact(general(op)))
		}
	}
	return b.String(), nil
}

// general replaces values of the place by their purpose.
func (p Place) general(text string) string {
	names := slices.SortedFunc(maps.Keys(p.Addresses), func(a, b string) int {
		return cmp.Or(len(p.Addresses[b])-len(p.Addresses[a]), cmp.Compare(a, b)) // 10.0.0.11 before 10.0.0.1
	})
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, p.Addresses[name], "ADDRESS-"+strings.ToUpper(name))
	}
	return strings.NewReplacer(append(pairs, p.Endpoint, "ENDPOINT", p.PodSubnet, "PODS")...).Replace(text)
}

// random are the members of operations that are random, derived from random values or addresses,
// or depend on the previous content of a host.
var random = []string{"lineage", "sha256", "hash", "before", "contents_only"}

// ofTheHost reports whether an operation depends on the previous content of a host: sysctls that
// were set already, and what a reset restores.
func ofTheHost(phase string, op map[string]any) bool {
	switch op["op"] {
	case "set_sysctl":
		return true
	case "ensure_directory":
		return phase == "reset"
	case "unit":
		return phase == "reset" && op["action"] == "start"
	}
	return false
}

// general drops the random members of a value, and replaces contents by digests.
func general(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			if !slices.Contains(random, key) {
				out[key] = general(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = general(member)
		}
		return out
	case string:
		if strings.Contains(v, "\n") {
			return fmt.Sprintf("%d lines %.8x", strings.Count(v, "\n"), sha256.Sum256([]byte(v)))
		}
	}
	return v
}

func compact(v any) string {
	b, err := json.Marshal(v) // v was decoded from JSON
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Differences returns the differing lines of two life cycles, or blocks of them, step by step;
// nil if there are none.
func Differences(recorded, got string) []string {
	var out []string
	a, b := lines(recorded), lines(got)
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "+ "+line)
		}
	}
	if out == nil && recorded != got {
		out = []string{"the same steps, in another order"}
	}
	return out
}

// lines returns the lines of a life cycle, each with its act and step.
func lines(text string) []string {
	var out []string
	var act, step string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "== "):
			act, step = line[3:], ""
		case !strings.HasPrefix(line, "  "):
			step, _, _ = strings.Cut(line, " via=")
			step, _, _ = strings.Cut(step, " needs=")
		}
		out = append(out, fmt.Sprintf("%s, %s: %s", act, step, strings.TrimSpace(line)))
	}
	return out
}
