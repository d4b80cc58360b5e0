package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// TestEditHelp checks that the help has every change.
func TestEditHelp(t *testing.T) {
	t.Parallel()
	err := sim.Edit(newRig(t).w, cp1, "nonsense")
	if err == nil {
		t.Fatal("nonsense was accepted")
	}
	_, verbs, _ := strings.Cut(err.Error(), "; one of ")
	for verb := range strings.SplitSeq(verbs, ", ") {
		if !strings.Contains("\n"+sim.EditHelp, "\n"+verb+" ") && !strings.Contains(sim.EditHelp, " or "+verb+" ") {
			t.Errorf("%q is missing in the help", verb)
		}
	}
}

func TestEditChangesWorld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.found(cp1)
	r.joinWorker(worker, cp1)
	edit := func(host, expr string) {
		t.Helper()
		if err := sim.Edit(r.w, host, expr); err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
	}
	apiserver := manifests + "/kube-apiserver.yaml"
	read := func(host, path string) state.FileReport {
		return r.observe(host, state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}}).Files[path]
	}

	edit(cp1, "file "+apiserver+" set-arg profiling=false")
	edit(cp1, "file "+apiserver+" set-arg secure-port=6443")
	edit(cp1, "file "+apiserver+" unset-arg advertise-address")
	if c := string(read(cp1, apiserver).Content); !strings.Contains(c, "--profiling=false") || strings.Count(c, "secure-port") != 1 || strings.Contains(c, "advertise-address") {
		t.Errorf("manifest is\n%s", c)
	}
	if r.ready(cp1) {
		t.Error("the API answers while it restarts")
	}
	r.eventually("API", func() bool { return r.ready(cp1) })
	report, err := r.api(cp1).Observe(context.Background(), state.ClusterQuery{})
	r.must(err)
	if args := strings.Join(report.StaticPods["kube-apiserver-"+nodeName(cp1)].Args, " "); !strings.Contains(args, "--profiling=false") {
		t.Errorf("running arguments: %s", args)
	}

	edit(worker, "yaml /var/lib/kubelet/config.yaml set maxPods=50")
	edit(worker, "yaml /var/lib/kubelet/config.yaml set authentication.anonymous.enabled=false")
	edit(worker, "yaml /var/lib/kubelet/config.yaml unset rotateCertificates")
	if c := string(read(worker, "/var/lib/kubelet/config.yaml").Content); !strings.Contains(c, "maxPods: 50\n") || !strings.Contains(c, "enabled: false") || strings.Contains(c, "rotate") {
		t.Errorf("configuration is\n%s", c)
	}
	edit(worker, "label "+nodeName(worker)+" pool=batch")
	edit(cp1, "taint "+nodeName(worker)+" a=b:NoExecute")
	edit(cp1, "cordon "+nodeName(worker))
	n := r.node(cp1, nodeName(worker))
	if n.Labels["pool"] != "batch" || !n.Unschedulable || len(n.Taints) < 2 {
		t.Errorf("node is %+v", n)
	}
	edit(worker, "label "+nodeName(worker)+" pool-")
	edit(cp1, "taint "+nodeName(worker)+" a:NoExecute-")
	edit(cp1, "uncordon "+nodeName(worker))
	n = r.node(cp1, nodeName(worker))
	if _, has := n.Labels["pool"]; has || n.Unschedulable {
		t.Errorf("node is %+v", n)
	}
	edit(cp1, "object ConfigMap kube-public/cluster-info set data.kubeconfig=changed")
	info := state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info"}
	report, err = r.api(cp1).Observe(context.Background(), state.ClusterQuery{Objects: []state.ObjectRef{info}})
	r.must(err)
	if got := report.Objects[info].Get("data.kubeconfig").AsString(); got != "changed" {
		t.Errorf("object holds %q", got)
	}

	edit(worker, "unit kubelet stop")
	edit(worker, "file /etc/kubernetes/kubelet.conf delete")
	edit(worker, "file /etc/motd content hello world")
	edit(worker, "file /etc/motd append again")
	edit(worker, "file /etc/motd mode 0600")
	edit(worker, "file /etc/motd owner daemon:daemon")
	edit(worker, "sysctl net.ipv4.ip_forward=1")
	edit(worker, "module br_netfilter load")
	edit(worker, "swap on")
	edit(worker, "image add example.com/x:1")
	edit(worker, "install kubelet=v1.37.1")
	q := r.observe(worker, state.Query{
		Files: []state.FileQuery{{Path: "/etc/motd", Read: state.ReadContent}, {Path: "/etc/kubernetes/kubelet.conf"}}, Units: []string{"kubelet.service"},
		Images: true, Sysctls: []string{"net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables"}, Modules: []string{"br_netfilter"},
	})
	motd := q.Files["/etc/motd"]
	if string(motd.Content) != "hello world\nagain\n" || motd.Mode != "0600" || motd.Owner != "daemon:daemon" || q.Files["/etc/kubernetes/kubelet.conf"].Exists {
		t.Errorf("files are %+v", q.Files)
	}
	if q.Units["kubelet.service"].Active != "inactive" || q.Sysctls["net.ipv4.ip_forward"] != "1" || q.Sysctls["net.bridge.bridge-nf-call-iptables"] != "1" ||
		!q.Modules["br_netfilter"] || !q.Facts.Swap || q.Facts.KubeletVersion != "1.37.1" || !strings.Contains(strings.Join(q.Images, " "), "example.com/x:1") {
		t.Errorf("host is %+v", q)
	}
}

func TestEditPowerAndConditions(t *testing.T) {
	t.Parallel()
	w := sim.New(1, sim.DefaultProfile())
	boot := func() string {
		r, err := w.Host(worker).Observe(context.Background(), state.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Facts.BootID
	}
	first := boot()
	for _, expr := range []string{"power off", "power on", "condition clock-skew 5m", "condition arch arm64"} {
		if err := sim.Edit(w, worker, expr); err != nil {
			t.Fatal(err)
		}
	}
	if boot() == first {
		t.Error("the boot ID has not changed")
	}
	r, err := w.Host(worker).Observe(context.Background(), state.Query{})
	if err != nil || r.Facts.ClockOffset != 5*time.Minute || r.Facts.Arch != "arm64" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestEditRefusals(t *testing.T) {
	t.Parallel()
	w := sim.New(1, sim.DefaultProfile())
	for expr, want := range map[string]string{
		"":                                "ends where a verb is expected",
		"fly away":                        `unknown verb "fly"`,
		"file":                            "ends where a path is expected",
		"file /etc/none delete":           "/etc/none does not exist",
		"file /etc/hosts":                 "ends where set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust is expected",
		"file /etc/hosts fold":            `unknown action "fold" on a file; set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust`,
		"file /etc/hosts renew":           "/etc/hosts is neither a certificate nor a kubeconfig with one",
		"unit kubelet":                    "ends where start, stop, restart, enable or disable is expected",
		"condition no-registry":           "ends where on, off or a value is expected",
		"hardware":                        `"" is not written cpus=N, memory=MIB, kernel=RELEASE, os=NAME or hostname=NAME`,
		"hardware disks=2":                `unknown hardware "disks"; one of cpus, memory, kernel, os, hostname`,
		"package libc6":                   "ends where hold, unhold or a status such as half-configured is expected",
		"object ConfigMap a/b":            "ends where set, unset or delete is expected",
		"time soon":                       `"soon" is no duration; write one as in 8000h`,
		"file /etc/hosts set-arg a":       `"a" is not written NAME=VALUE`,
		"yaml /etc/kubelet set a=1":       "/etc/kubelet does not exist",
		"unit kubelet jump":               `unknown action "jump"; start, stop, restart, enable or disable`,
		"unit nobody start":               "Unit nobody.service not found",
		"label cp1 a=b":                   "is in no cluster",
		"power up":                        `"up" is not on, off or reboot`,
		"power off now":                   `unexpected "now"`,
		"condition sad on":                `unknown condition "sad"; one of arch, clock-skew, no-module, no-package, package-lock, `,
		"sysctl no.such=1":                "No such file or directory",
		"swap maybe":                      `"maybe" is neither on nor off`,
		"pod x y":                         `"x" is not written NAMESPACE/NAME`,
		"yaml /etc/containerd/none unset": "does not exist",
	} {
		err := sim.Edit(w, worker, expr)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "cannot edit "+worker) {
			t.Errorf("%q: got %v, want %q", expr, err, want)
		}
	}
}
