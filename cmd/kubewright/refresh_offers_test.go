package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// offersConfig has a setting of every kind that can be changed outside of kubewright.
const offersConfig = `
cluster "prod" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "api.example.com:6443"
  scheduler {
    arg "v" { value = "2" }
    arg "profiling" { value = "false" }
  }
  kubelet {
    config = { maxPods = 100 }
    arg "v" { value = "2" }
  }
  kube_proxy {
    config = { mode = "nftables" }
  }
  addon "app" { manifest = [yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "app", namespace = "default" }, data = { a = "b" } })] }
}

connection { type = "sim" }

node "cp1" {
  cluster = cluster.prod
  role    = "control-plane"
  name    = "cp1"
  address = "10.0.0.11"
}

node "cp2" {
  cluster = cluster.prod
  role    = "control-plane"
  name    = "cp2"
  address = "10.0.0.12"
  taints = [{ key = "a", value = "b", effect = "NoSchedule" }, { key = "c", effect = "NoExecute" }]
}

node "cp3" {
  cluster = cluster.prod
  role    = "control-plane"
  name    = "cp3"
  address = "10.0.0.13"
}

node "w1" {
  cluster = cluster.prod
  role    = "worker"
  name    = "w1"
  address = "10.0.0.21"
  labels = { "node.example.com/pool" = "general" }
  annotations = { "example.com/by" = "us" }
  taint "a" { effect = "NoSchedule" }
  taint "b" { effect = "NoSchedule" }
  kubelet {
    config = { containerLogMaxFiles = 3 }
    arg "node-status-max-images" { value = "60" }
  }
}

node "w2" {
  cluster = cluster.prod
  role    = "worker"
  name    = "w2"
  address = "10.0.0.22"
}
`

// These sentences after an offer say what the next apply changes regardless.
const (
	tellsKubelet = "The next apply also writes them to its kubelet, which registers the node with its taints, and restarts it. No pod is affected."
	bringsToAll  = "The next apply brings it to all control planes, and writes it into kubeadm-config."
	takesConfig  = "That setting applies to all nodes: the next apply takes it from the others, and from kubelet-config."
	takesFromAll = "That setting applies to all nodes: the next apply takes it from the others."
)

// offers are outside changes for which a refresh-only plan offers configuration: the host, the
// edits, the sentence after the offer, and what the next plan still changes in the cluster.
var offers = map[string]struct {
	host  string
	edits []string
	says  string
	then  []string
}{
	"label":                    {"10.0.0.21", []string{"label w1 node.example.com/pool=batch"}, "", nil},
	"label gone":               {"10.0.0.21", []string{"label w1 node.example.com/pool-"}, "", nil},
	"label of kubeadm gone":    {"10.0.0.11", []string{"label cp1 node.kubernetes.io/exclude-from-external-load-balancers-"}, "", nil},
	"annotation":               {"10.0.0.21", []string{"annotate w1 example.com/by=them"}, "", nil},
	"annotation gone":          {"10.0.0.21", []string{"annotate w1 example.com/by-"}, "", nil},
	"taint of a worker":        {"10.0.0.21", []string{"taint w1 a=b:NoSchedule"}, tellsKubelet, []string{"register-with-taints"}},
	"taint of a worker gone":   {"10.0.0.21", []string{"taint w1 a:NoSchedule-"}, tellsKubelet, []string{"register-with-taints"}},
	"taints listed":            {"10.0.0.12", []string{"taint cp2 a=c:NoSchedule"}, "", nil},
	"taints listed, one gone":  {"10.0.0.12", []string{"taint cp2 a:NoSchedule-"}, "", nil},
	"taint of kubeadm gone":    {"10.0.0.11", []string{"taint cp1 node-role.kubernetes.io/control-plane:NoSchedule-"}, "", nil},
	"kubelet's own field":      {"10.0.0.21", []string{"yaml /var/lib/kubelet/config.yaml set containerLogMaxFiles=4"}, "", nil},
	"kubelet's own field gone": {"10.0.0.21", []string{"yaml /var/lib/kubelet/config.yaml unset containerLogMaxFiles"}, "", nil},
	"kubelet's new field":      {"10.0.0.22", []string{"yaml /var/lib/kubelet/config.yaml set podsPerCore=5"}, "", nil},
	"kubelet's deep field":     {"10.0.0.22", []string{"yaml /var/lib/kubelet/config.yaml set authentication.anonymous.enabled=true"}, "", nil},
	"cluster's field":          {"10.0.0.22", []string{"yaml /var/lib/kubelet/config.yaml set maxPods=50"}, "", nil},
	"cluster's field gone":     {"10.0.0.22", []string{"yaml /var/lib/kubelet/config.yaml unset maxPods"}, takesConfig, []string{"maxPods"}},
	"kubelet's flag":           {"10.0.0.21", []string{"FLAGS|--node-status-max-images=60|--node-status-max-images=70"}, "", nil},
	"kubelet's flag gone":      {"10.0.0.21", []string{"FLAGS| --node-status-max-images=60|"}, "", nil},
	"kubelet's new flag":       {"10.0.0.22", []string{"FLAGS|--v=2|--v=2 --node-status-max-images=70"}, "", nil},
	"cluster's flag":           {"10.0.0.22", []string{"FLAGS|--v=2|--v=3"}, "", nil},
	"cluster's flag gone":      {"10.0.0.22", []string{"FLAGS|--v=2|"}, takesFromAll, []string{"v "}},
	"argument":                 {"10.0.0.12", []string{"file /etc/kubernetes/manifests/kube-scheduler.yaml set-arg v=4"}, bringsToAll, []string{"v ", "extraArgs"}},
	"argument gone":            {"10.0.0.12", []string{"file /etc/kubernetes/manifests/kube-scheduler.yaml unset-arg v"}, bringsToAll, []string{"v ", "extraArgs"}},
	"new argument":             {"10.0.0.12", []string{"file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false"}, bringsToAll, []string{"profiling", "extraArgs"}},
	"object of an addon":       {"10.0.0.11", []string{"object ConfigMap default/app set data.a=c"}, "", nil},
	"object of an addon gone":  {"10.0.0.11", []string{"object ConfigMap default/app delete"}, "", nil},
	"kubelet-config":           {"10.0.0.11", []string{"DOCUMENT|kubelet-config|kubelet|maxPods: 100|maxPods: 90"}, "", nil},
	"kube-proxy":               {"10.0.0.11", []string{`DOCUMENT|kube-proxy|config.conf|mode: nftables|mode: iptables`}, "", []string{"stale_files"}}, // its pods pick up the current configuration
}

// TestRefreshOffersAcceptDrift checks that, for every kind of change that has an offer, the configuration
// agrees with the hosts after the offer is followed. Other changes of the next apply are
// announced, and nothing else is left to do.
func TestRefreshOffersAcceptDrift(t *testing.T) {
	t.Parallel()
	base := newFolder(t, offersConfig)
	base.must(t, "apply", "-auto-approve")
	for name, c := range offers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := base.copy(t)
			for _, edit := range c.edits {
				f.outside(t, c.host, edit)
			}
			code, out := f.run("plan", "-refresh-only", "-detailed-exitcode")
			if code != 3 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			f.accept(t, out)
			said := ""
			for _, o := range offersIn(out) {
				if !strings.HasPrefix(o.sentence, "To ") {
					said += o.sentence
				}
			}
			if said != c.says {
				t.Errorf("the plan says %q of the next apply, want %q", said, c.says)
			}
			code, plan := f.run("plan", "-detailed-exitcode")
			if len(c.then) == 0 && (code != 0 || !strings.Contains(plan, "No changes.")) || len(c.then) > 0 && code != 2 && code != 3 {
				t.Errorf("exit code %d\n%s\n%s\n%s", code, out, f.text(t), plan)
			}
			_, actions, _ := strings.Cut(plan, "kubewright will perform the following actions")
			for line := range strings.Lines(actions) {
				if changed := changedLine.FindString(line); changed != "" && !slices.ContainsFunc(c.then, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(changed)[2:], s) }) {
					t.Errorf("the plan changes something else: %s\n%s", line, plan)
				}
			}
			f.must(t, "apply", "-auto-approve")
			f.must(t, "plan", "-detailed-exitcode")
			f.must(t, "plan", "-refresh-only", "-detailed-exitcode")
		})
	}
}

// changedLine is a line of a plan with a value.
var changedLine = regexp.MustCompile(`^ *[-+~] \S+ += .*`)

func (f folder) text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// outside changes a host by hand, as sim edit does. FLAGS OLD NEW changes the flags of its
// kubelet, and DOCUMENT NAME KEY OLD NEW changes a text in a ConfigMap.
func (f folder) outside(t *testing.T, host, edit string) {
	t.Helper()
	words := strings.Split(edit, "|")
	switch words[0] {
	case "FLAGS":
		const path = "/var/lib/kubelet/kubeadm-flags.env"
		r, err := f.world(t).Host(host).Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}})
		if err != nil || !strings.Contains(string(r.Files[path].Content), words[1]) {
			t.Fatalf("%v: %s", err, r.Files[path].Content)
		}
		text := strings.TrimSpace(strings.Replace(string(r.Files[path].Content), words[1], words[2], 1))
		edit = "file " + path + " content " + text
	case "DOCUMENT":
		ref := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: words[1]}
		w := f.world(t)
		api, err := sim.Access{}.API(t.Context(), w.Host(host), host+":6443")
		if err != nil {
			t.Fatal(err)
		}
		r, err := api.Observe(t.Context(), state.ClusterQuery{Objects: []state.ObjectRef{ref}})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Objects[ref].Get("data").AsMap()[words[2]].AsString()
		if !strings.Contains(text, words[3]) {
			t.Fatalf("%s has no %q:\n%s", words[1], words[3], text)
		}
		edit = "object ConfigMap kube-system/" + words[1] + " set " + state.JoinPath("data", words[2]) + "=" + strconv.Quote(strings.Replace(text, words[3], words[4], 1))
	}
	f.must(t, "sim", "edit", host, edit)
}

// world returns the simulated world.
func (f folder) world(t *testing.T) *sim.World {
	t.Helper()
	w, err := sim.Open(filepath.Join(string(f), "kubewright.sim.json"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// accept applies the offers of a refresh-only plan to the configuration.
func (f folder) accept(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(f.text(t), "\n")
	offered := false
	for _, o := range offersIn(out) {
		offered = true
		if place := takenOut.FindStringSubmatch(o.sentence); place != nil {
			for _, at := range strings.Split(place[1], ", ") {
				n, err := strconv.Atoi(strings.TrimPrefix(at, "main.hcl:"))
				if err != nil {
					t.Fatal(err)
				}
				lines[n-1] = "" // each setting is on its own line in this configuration
			}
			continue
		}
		block := ofBlock.FindStringSubmatch(o.sentence)
		if block == nil {
			continue // what the next apply does
		}
		head := `cluster "prod" {`
		if name, ok := strings.CutPrefix(block[1], "node."); ok {
			head = `node "` + name + `" {`
		}
		at := slices.Index(lines, head)
		if at < 0 {
			t.Fatalf("no block %s", head)
		}
		lines = merged(lines, at, o.lines)
	}
	if !offered {
		t.Fatalf("there is no offer:\n%s", out)
	}
	if err := os.WriteFile(filepath.Join(string(f), "main.hcl"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	takenOut = regexp.MustCompile(`^To keep it, take out what the configuration says of it: (.*)\.$`)
	ofBlock  = regexp.MustCompile(`^To .* into the block of (its cluster|cluster\.prod|node\.\w+)`)
	inPlace  = regexp.MustCompile(` # in the place of that at main\.hcl:(\d+)$`)
)

// offer is a paragraph below a change, with the configuration lines in it.
type offer struct {
	sentence string
	lines    []string
}

// offersIn returns the offers in a plan.
func offersIn(out string) []offer {
	var all []offer
	var o offer
	for line := range strings.Lines(out + "\n") {
		line = strings.TrimRight(line, "\n")
		text, isOffer := strings.CutPrefix(line, "    ")
		hcl, isHCL := strings.CutPrefix(text, "  ")
		switch {
		case isOffer && isHCL && o.sentence != "":
			o.lines = append(o.lines, hcl)
		case isOffer && !isHCL && (o.sentence != "" || strings.HasPrefix(text, "To ") || strings.HasPrefix(text, "The next") || strings.HasPrefix(text, "That setting")):
			o.sentence = strings.TrimSpace(o.sentence + " " + text)
		case o.sentence != "":
			all, o = append(all, o), offer{}
		}
	}
	return all
}

// merged inserts offered lines into the block that begins at a line, replacing lines with the
// same subject. Each setting is on its own line in this configuration.
func merged(lines []string, at int, offered []string) []string {
	lines = slices.Clone(lines)
	if place := inPlace.FindStringSubmatch(offered[0]); place != nil {
		n, _ := strconv.Atoi(place[1])
		lines[n-1] = ""
		return slices.Insert(lines, at+1, offered...)
	}
	there := at + 1
	for lines[there] != "}" && subject(lines[there]) != subject(offered[0]) {
		there++
	}
	switch {
	case lines[there] == "}":
		return slices.Insert(lines, at+1, offered...)
	case len(offered) == 1:
		lines[there] = offered[0]
		return lines
	}
	for _, line := range offered[1 : len(offered)-1] {
		same := there + 1
		for lines[same] != "  }" && subject(lines[same]) != subject(line) {
			same++
		}
		if lines[same] == "  }" {
			lines = slices.Insert(lines, there+1, line)
		} else {
			lines[same] = line
		}
	}
	return lines
}

// subject returns the subject of a configuration line: the name of an attribute, or the head
// of a block.
func subject(line string) string {
	name, _, _ := strings.Cut(line, "=")
	name, _, _ = strings.Cut(name, "{")
	return strings.TrimSpace(name)
}
