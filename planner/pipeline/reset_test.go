package pipeline_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// put creates a user's file on a host, with its folder.
func (o *operator) put(address, file, text string) {
	o.t.Helper()
	_, err := o.world.Host(address).Perform(o.t.Context(), providers.Batch{Operations: []planner.Operation{
		planner.EnsureDirectory{Path: path.Dir(file), Mode: "0750", Owner: "root:root"},
		planner.WriteFile{Path: file, Mode: "0640", Owner: "root:root", Content: planner.Content{Inline: text}},
	}})
	o.must(err)
}

// TestDestroyKeepsUserFiles checks that the user's files beside the certificates are there after a
// destroy, and so is the data of an etcd that is not ours: on all nodes beside an external etcd, on
// workers, and where ours has another folder.
func TestDestroyKeepsUserFiles(t *testing.T) {
	t.Parallel()
	hosts := []string{"10.0.0.11", "10.0.0.21"}
	for name, c := range map[string]struct {
		etcd   config.Etcd
		theirs []string
	}{
		"stacked etcd":           {config.Etcd{DataDir: "/var/lib/etcd"}, hosts[1:]},
		"stacked etcd elsewhere": {config.Etcd{DataDir: "/var/lib/members"}, hosts},
		"external etcd":          {config.Etcd{External: &config.ExternalEtcd{Endpoints: []string{"https://etcd.example.com:2379"}}}, hosts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(1, 1))
			o.config.Clusters[0].Etcd = c.etcd
			fresh := o.listings()
			for _, address := range hosts {
				o.put(address, "/etc/kubernetes/pki/etcd/notes", "mine")
			}
			for _, address := range c.theirs {
				o.put(address, "/var/lib/etcd/default/db", "of another etcd")
			}
			before := o.listings()
			if before == fresh {
				t.Fatal("the user's files are missing")
			}
			o.must(o.apply())
			o.wantNothing()
			o.destroy = true
			o.must(o.apply())
			// The folder of markers came with the first batch, which wrote the user's files.
			before = strings.ReplaceAll(before, "file /var/lib/kubewright directory 0700 root:root\n", "")
			if after := o.listings(); after != before {
				t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
			}
		})
	}
}

// TestResetKeepsDataOfOtherEtcd checks that when nodes leave or rejoin, etcd data is removed if it was
// ours, and no other data, even if the block of the cluster has changed or is gone.
func TestResetKeepsDataOfOtherEtcd(t *testing.T) {
	t.Parallel()
	external := func(o *operator) {
		o.config.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://etcd.example.com:2379"}}
	}
	for name, c := range map[string]struct {
		founded, then func(*operator)
		host          string
		stays         bool
	}{
		"a worker leaves":               {func(*operator) {}, func(o *operator) { o.leave("w1") }, "10.0.0.21", true},
		"a worker is replaced":          {func(*operator) {}, func(o *operator) { o.replace = []state.Target{o.config.Nodes[3].Target} }, "10.0.0.21", true},
		"beside an external etcd":       {external, func(o *operator) { o.replace = []state.Target{o.config.Nodes[1].Target} }, "10.0.0.12", true},
		"a member becomes a worker":     {func(*operator) {}, func(o *operator) { o.become(1, config.Worker) }, "10.0.0.12", false},
		"the block says external now":   {func(*operator) {}, func(o *operator) { external(o); o.destroy = true }, "10.0.0.12", false},
		"the block says stacked now":    {external, func(o *operator) { o.config.Clusters[0].Etcd.External, o.destroy = nil, true }, "10.0.0.12", true},
		"the block is gone":             {func(*operator) {}, func(o *operator) { o.config = nothing() }, "10.0.0.12", false},
		"the block is gone, external":   {external, func(o *operator) { o.config = nothing() }, "10.0.0.12", true},
		"the block is gone, no API yet": {func(*operator) {}, func(o *operator) { o.know(func(c *state.RecordedCluster) { c.Fixed = nil }); o.config = nothing() }, "10.0.0.12", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(3, 1))
			c.founded(o)
			o.must(o.apply())
			o.edit(c.host, "file /var/lib/etcd/default/db content data")
			c.then(o)
			o.must(o.apply())
			if stays := strings.Contains(o.world.Listing(c.host), "/var/lib/etcd/default/db"); stays != c.stays {
				t.Errorf("the data is there: %t, want %t", stays, c.stays)
			}
		})
	}
}

// TestDestroyKeepsModeOfLinkedFolder checks that a reset does not restore the mode of a folder for which
// the marker recorded a link's: the folder's own mode is unknown, and a link's would make it accessible
// to all users.
func TestDestroyKeepsModeOfLinkedFolder(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	o.put("10.0.0.11", "/var/lib/kubelet/notes", "mine")
	o.must(o.apply())
	o.destroy = true
	for mode, want := range map[string]bool{"0750": true, "0777": false} {
		v := o.observe()
		for _, r := range v.Reports {
			r.Marks.Before["folder:/var/lib/kubelet"] = mode + " root:root"
		}
		p, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		emptied, putBack := false, false
		for _, s := range p.Plan.Steps {
			for _, op := range s.Operations {
				emptied = emptied || op == planner.Operation(planner.RemovePath{Path: "/var/lib/kubelet", ContentsOnly: true})
				putBack = putBack || op == planner.Operation(planner.EnsureDirectory{Path: "/var/lib/kubelet", Mode: mode, Owner: "root:root"})
			}
		}
		if !emptied || putBack != want {
			t.Errorf("%s: the folder is emptied: %v, and restored: %v", mode, emptied, putBack)
		}
	}
}

// TestDestroyRemovesCertificatesFolder checks that a certificates folder of the cluster's own is
// removed as well.
func TestDestroyRemovesCertificatesFolder(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(3, 1))
	o.config.Clusters[0].Certificates.Dir = "/var/lib/prod/pki"
	before := o.listings()
	o.must(o.apply())
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestDestroyRemovesKubeletLogindConfiguration checks that a destroy removes the kubelet's logind
// configuration, which the kubelet itself never does.
func TestDestroyRemovesKubeletLogindConfiguration(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"shutdownGracePeriod": "60s"})
	before := o.listings()
	o.must(o.apply())
	if !strings.Contains(o.listings(), "99-kubelet.conf") {
		t.Fatal("the kubelet has not configured logind")
	}
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// flannel returns a network addon, reduced to its effects on hosts.
func flannel() *config.Addon {
	volume := func(name, path string) map[string]any {
		return map[string]any{"name": name, "hostPath": map[string]any{"path": path}}
	}
	return &config.Addon{Name: "cni", Objects: documents(state.FromGo(map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "kube-flannel-ds", "namespace": "kube-system"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"volumes": []any{volume("cni", "/etc/cni/net.d"), volume("run", "/run/flannel")},
		}}},
	}))}
}

// TestDestroyRemovesNetwork checks that a destroy removes what a network addon leaves on hosts, except
// for files that belong to another container engine or were there before.
func TestDestroyRemovesNetwork(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.config.Clusters[0].Addons = []*config.Addon{flannel()}
	o.put("10.0.0.21", "/etc/cni/net.d/05-mine.conflist", "mine")
	o.edit("10.0.0.21", "link docker0", "link veth1@docker0")
	before := o.listings()
	o.must(o.apply())
	o.wantNothing()
	for _, want := range []string{"/etc/cni/net.d/10-kube-flannel-ds.conflist", "/run/flannel", "link veth1@docker0", "link cni0", "link flannel.1"} {
		if !strings.Contains(o.listings(), want) {
			t.Errorf("no %s on the hosts", want)
		}
	}
	o.destroy = true
	o.must(o.apply())
	before = strings.ReplaceAll(before, "file /var/lib/kubewright directory 0700 root:root\n", "") // created with the user's batch
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestDestroyKeepsContainerEngineNetworks checks that networks that podman, nerdctl and CRI-O have added
// beside the pods' network after the bootstrap stay, together with their folder.
func TestDestroyKeepsContainerEngineNetworks(t *testing.T) {
	t.Parallel()
	for name, bare := range map[string]bool{"a folder that was there": false, "a folder that came with install": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(1, 0))
			if bare {
				o, _ = airGapped(t, cluster(1, 0))
			}
			o.config.Clusters[0].Addons = []*config.Addon{flannel()}
			o.must(o.apply())
			theirs := []string{"87-podman-bridge.conflist", "nerdctl-blue.conflist", "11-crio-ipv4-bridge.conflist", "200-loopback.conf"}
			for _, name := range append(theirs, "10-calico.conflist") {
				o.edit("10.0.0.11", "file /etc/cni/net.d/"+name+" content later than us")
			}
			o.destroy = true
			o.must(o.apply())
			for _, name := range theirs {
				if !strings.Contains(o.listings(), "/etc/cni/net.d/"+name) {
					t.Errorf("%s was removed", name)
				}
			}
			for _, name := range []string{"10-calico.conflist", "10-kube-flannel-ds.conflist"} {
				if strings.Contains(o.listings(), name) {
					t.Errorf("%s was left", name)
				}
			}
		})
	}
}

// TestImagesAreQueriedInTheirRuntime checks that images are queried in the runtime into which they are pulled.
func TestImagesAreQueriedInTheirRuntime(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	for _, want := range []string{"", "unix:///run/cri-dockerd.sock"} {
		n := o.config.Nodes[1]
		n.CRISocket = want
		if q := observe.Queries(o.config, o.recorded)[n.Target]; !q.Images || q.CRISocket != want {
			t.Errorf("images are asked for, %t, at %q, want %q", q.Images, q.CRISocket, want)
		}
	}
}

// TestDestroyRemovesPodsOfKubeletRuntime checks that pods are removed from the runtime that the kubelet was given,
// even if the host has another one that kubeadm would find first.
func TestDestroyRemovesPodsOfKubeletRuntime(t *testing.T) {
	t.Parallel()
	const crio, containerd = "unix:///run/crio/crio.sock", "unix:///var/run/containerd/containerd.sock"
	base := founded(t, 1, 1)
	inFile := func(file, text string) func(o *operator, t state.Target) {
		return func(o *operator, t state.Target) {
			o.recorded.Items = slices.Clone(o.recorded.Items)
			for i := range o.recorded.Items {
				it := &o.recorded.Items[i]
				if it.Address.Target != t {
					continue
				}
				switch it.Address.ID() {
				case file:
					attributes, err := map[string]func([]byte) (state.Value, error){
						"/var/lib/kubelet/instance-config.yaml": kubeadm.YAMLAttributes, "/var/lib/kubelet/kubeadm-flags.env": kubeadm.KubeletFlagsAttributes,
					}[file]([]byte(text))
					o.must(err)
					it.Attributes = attributes
				case "/var/lib/kubelet/instance-config.yaml":
					it.Attributes = state.Map(nil)
				}
			}
		}
	}
	configured := func(o *operator, t state.Target) {
		for _, n := range o.config.Nodes {
			if n.Target == t {
				n.CRISocket = crio
			}
		}
	}
	unrecorded := inFile("", "")
	instance := inFile("/var/lib/kubelet/instance-config.yaml", "containerRuntimeEndpoint: "+crio+"\n")
	for name, c := range map[string]struct {
		changes []func(*operator, state.Target)
		leaves  bool
		want    string
	}{
		"its instance config":             {[]func(*operator, state.Target){instance}, false, crio},
		"its instance config, block gone": {[]func(*operator, state.Target){instance}, true, crio},
		"its flags":                       {[]func(*operator, state.Target){inFile("/var/lib/kubelet/kubeadm-flags.env", "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint="+crio+"\"\n")}, true, crio},
		"its block":                       {[]func(*operator, state.Target){configured, unrecorded}, false, crio},
		"a block that was not applied":    {[]func(*operator, state.Target){configured}, false, containerd},
		"what is found":                   {[]func(*operator, state.Target){unrecorded}, true, containerd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			node := o.config.Nodes[1].Target
			for _, change := range c.changes {
				change(o, node)
			}
			if o.destroy = !c.leaves; c.leaves {
				o.leave(node.Key)
			}
			plan := o.planSeeing(func(v *topology.Fleet) {
				v.Reports[node].Facts.CRISockets, v.Reports[node].Facts.CRISocket = []string{containerd, crio}, containerd
			})
			socket := ""
			for _, s := range plan.Steps {
				for _, op := range s.Operations {
					if pods, ok := op.(planner.RemovePods); ok && s.Target == node {
						socket = pods.Socket
					}
				}
			}
			if socket != c.want {
				t.Errorf("pods are removed at %q, want %q", socket, c.want)
			}
		})
	}
}

// TestDepartureStopsAPIServerBeforeMemberRemoval checks that a departing control plane accepts no more requests when the etcd
// beside it is no longer a member. Without a kubelet that stops its API server, the plan does not wait
// for that.
func TestDepartureStopsAPIServerBeforeMemberRemoval(t *testing.T) {
	t.Parallel()
	stopped := "its kubelet has stopped"
	for name, change := range map[string]func(*operator){
		"it goes":             func(o *operator) { o.leave("cp2") },
		"it is replaced":      func(o *operator) { o.replace = []state.Target{o.config.Nodes[1].Target} },
		"it becomes a worker": func(o *operator) { o.become(1, config.Worker) },
		"it has another port": func(o *operator) {
			o.edit("10.0.0.12", "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg secure-port=7443")
			o.leave("cp2")
		},
		stopped: func(o *operator) {
			o.edit("10.0.0.12", "unit kubelet stop")
			o.leave("cp2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			change(o)
			o.world.Watch = name != stopped
			p, err := o.plan()
			o.must(err)
			s, waits := stepOf(p, "cp2/reset"), false
			if s == nil {
				t.Fatalf("cp2 does not leave:\n%s", describe(p))
			}
			for _, op := range s.Operations {
				w, ok := op.(planner.Wait)
				waits = waits || ok && w.For == planner.WaitClosed
			}
			if waits == (name == stopped) {
				t.Errorf("the plan waits until the API server is closed: %v", waits)
			}
			o.must(o.carryOut())
			o.wantHeld()
			o.wantNothing()
		})
	}
}

// TestKernelModulesAreLoadedAndRestored checks that listed modules are loaded now and after a boot. A module that is no
// longer listed stays until the cluster is destroyed, which removes only modules that were not there
// before.
func TestKernelModulesAreLoadedAndRestored(t *testing.T) {
	t.Parallel()
	const host = "10.0.0.21"
	o := newOperator(t, cluster(1, 1))
	o.edit(host, "module ip_vs load")
	before := o.listings()
	loaded := func(want ...string) {
		t.Helper()
		names := []string{"br_netfilter", "ip_vs", "overlay"}
		r, err := o.world.Host(host).Observe(t.Context(), state.Query{Modules: names})
		o.must(err)
		if got := slices.DeleteFunc(names, func(name string) bool { return !r.Modules[name] }); !slices.Equal(got, want) {
			t.Errorf("the modules %v are loaded, want %v", got, want)
		}
	}
	list := func(names ...string) {
		t.Helper()
		o.config.Clusters[0].KernelModules = names
		o.must(o.apply())
		o.wantNothing()
	}

	list("ip_vs", "overlay")
	loaded("ip_vs", "overlay")
	o.world.Reboot(host)
	o.must(o.world.Clock().Sleep(t.Context(), time.Minute))
	loaded("ip_vs", "overlay")
	o.wantNothing()
	o.edit(host, "module overlay unload")
	list("ip_vs", "overlay")
	list("br_netfilter")
	loaded("br_netfilter", "ip_vs", "overlay")
	list()
	o.destroy = true
	o.must(o.apply())
	loaded("ip_vs")
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// swapping returns an operator of hosts whose fstab has swap.
func swapping(t *testing.T) *operator {
	t.Helper()
	o := newOperator(t, cluster(1, 1))
	p := sim.DefaultProfile()
	p.Swap = true
	o.world = sim.New(1, p)
	o.world.PodHash = kubeadm.StaticPodHash
	return o
}

// swap reports whether the control plane's swap is on, and whether it will be after a boot.
func (o *operator) swap() (on, boots bool) {
	o.t.Helper()
	r, err := o.world.Host("10.0.0.11").Observe(o.t.Context(), state.Query{})
	o.must(err)
	return r.Facts.Swap, r.Facts.SwapAtBoot
}

// TestSwapStaysOffAfterBoot checks that swap in fstab is off after a boot as well, so that the kubelet starts,
// and as before after the cluster's destruction.
func TestSwapStaysOffAfterBoot(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]bool{"in use": false, "turned off by hand": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := swapping(t)
			if off {
				o.must(sim.Edit(o.world, "10.0.0.11", "swap off"))
			}
			before := o.listings()
			wasOn, _ := o.swap()
			o.must(o.apply())
			o.wantNothing()
			o.world.Reboot("10.0.0.11")
			o.must(o.world.Clock().Sleep(t.Context(), time.Minute))
			if on, boots := o.swap(); on || boots {
				t.Errorf("after a boot swap is on: %t, and will be after the next: %t", on, boots)
			}
			o.wantNothing()
			o.destroy = true
			o.must(o.apply())
			if after := o.listings(); after != before {
				t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
			}
			if on, boots := o.swap(); on != wasOn || !boots {
				t.Errorf("after all swap is on: %t, and will be after a boot: %t", on, boots)
			}
		})
	}
}

// TestSwapAddedToFstabIsTurnedOff checks that swap that is added to fstab later is turned off for the next boot
// as well, and is back after the cluster's destruction.
func TestSwapAddedToFstabIsTurnedOff(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.must(o.apply())
	o.must(sim.Edit(o.world, "10.0.0.11", "file /etc/fstab append /swap.img none swap sw 0 0"))
	p, err := o.plan()
	o.must(err)
	if len(p.Changes) != 1 || p.Changes[0].Address.String() != `node.cp["cp1"]/prepare/swap:all` || len(p.Changes[0].Attributes) != 1 || p.Changes[0].Attributes[0].Path != "at_boot" {
		t.Errorf("the changes are %+v, want that of swap at boot", p.Changes)
	}
	o.must(o.carryOut())
	o.wantNothing()
	o.destroy = true
	o.must(o.apply())
	if _, boots := o.swap(); !boots {
		t.Error("the swap of fstab is gone")
	}
}

// TestSwapAllowedLaterIsNotTouched checks that a plan no longer touches swap once the kubelet may run with it.
func TestSwapAllowedLaterIsNotTouched(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.must(o.apply())
	o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"failSwapOn": false})
	o.must(o.apply())
	o.wantNothing()
	o.edit("10.0.0.11", "swap on")
	o.wantNothing()
}

// TestSwapIsKeptIfKubeletAllowsIt checks that swap is left as it is if the kubelet runs with it.
func TestSwapIsKeptIfKubeletAllowsIt(t *testing.T) {
	t.Parallel()
	o := swapping(t)
	cl := o.config.Clusters[0]
	cl.Kubelet.Config = state.FromGo(map[string]any{"failSwapOn": false, "memorySwap": map[string]any{"swapBehavior": "LimitedSwap"}})
	before := o.listings()
	o.must(o.apply())
	o.wantNothing()
	if on, boots := o.swap(); !on || !boots {
		t.Errorf("swap is on: %t, and will be after a boot: %t; want both", on, boots)
	}
	cl.Kubelet.Config = state.Value{}
	o.must(o.apply())
	o.wantNothing()
	cl.Kubelet.Config = state.FromGo(map[string]any{"failSwapOn": false})
	o.must(o.apply())
	o.wantNothing()
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before:\n%s", udiff.Unified("before", "after", before, after))
	}
}

// TestSwapArgumentOverridesKubeletFile checks that an argument of the kubelet overrides its file, the node's the
// cluster's, and that the last one of several wins.
func TestSwapArgumentOverridesKubeletFile(t *testing.T) {
	t.Parallel()
	o := swapping(t)
	cl, cp := o.config.Clusters[0], o.config.Nodes[0]
	args := func(values ...string) (out []config.Arg) {
		for _, v := range values {
			out = append(out, config.Arg{Name: "fail-swap-on", Value: v})
		}
		return out
	}
	cl.Kubelet.Config = state.FromGo(map[string]any{"failSwapOn": true})
	cl.Kubelet.Args, cp.Kubelet.Args = args("true"), args("true", "false")
	o.must(o.apply())
	o.wantNothing()
	if on, boots := o.swap(); !on || !boots {
		t.Errorf("swap is on: %t, and will be after a boot: %t; want both", on, boots)
	}
	cl.Kubelet.Config = state.FromGo(map[string]any{"failSwapOn": false})
	cl.Kubelet.Args, cp.Kubelet.Args = args("false"), args("true")
	o.must(o.apply())
	o.wantNothing()
	if on, boots := o.swap(); on || boots {
		t.Errorf("swap is on: %t, and will be after a boot: %t; want neither", on, boots)
	}
}

// TestDestroyImpactOfUnchangedHosts checks what the destruction of a whole cluster says about a host that is not
// changed: a host that was observed as clean holds nothing of the cluster, one that was declared gone
// may still hold all of it.
func TestDestroyImpactOfUnchangedHosts(t *testing.T) {
	t.Parallel()
	o := running(t, 3, 1, "1.36.3")
	o.edit("10.0.0.12", "reinstall")
	o.edit("10.0.0.13", "power off")
	o.config = &config.Config{Removals: []config.Removal{
		{From: state.ClusterTarget("prod"), Destroy: true}, {From: state.NodeKeyTarget("cp", "cp3"), Destroy: true, Unreachable: true},
	}}
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cp2/reset": "its host is not changed, and holds nothing of the cluster any more",
		"cp3/reset": "its old host is not changed: keep it from coming back, because it still has keys and data of the cluster",
	} {
		if s := stepOf(p, name); s == nil || s.Impact != want {
			t.Errorf("%s: got %+v, want %q", name, s, want)
		}
	}
}

// TestResetRemovesFilesOfInterruptedRotation checks that files that an interrupted rotation or replacement at once has
// left on a control plane are removed with it.
func TestResetRemovesFilesOfInterruptedRotation(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	for _, name := range []string{"ca-next.crt", "ca-next.key", "etcd/ca-old.crt", "etcd/ca-ended.crt", "front-proxy-ca-ended.crt"} {
		o.edit("10.0.0.13", "file "+pkiDir+name+" content x")
	}
	o.leave("cp3")
	o.must(o.apply())
	for _, suffix := range []string{".crt", ".key"} {
		if left := o.files("10.0.0.13", suffix); len(left) > 0 {
			t.Errorf("left are %v", left)
		}
	}
}
