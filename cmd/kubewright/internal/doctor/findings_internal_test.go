package doctor

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/state"
)

func TestMembersOfEtcdThatAreIll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member state.EtcdMember
		want   []string
	}{
		{state.EtcdMember{Name: "cp1", Healthy: true}, nil},
		{state.EtcdMember{ID: "a1", Healthy: false}, []string{"member a1 of etcd is not healthy", "kubewright etcd status"}},
		{state.EtcdMember{Name: "cp1", Healthy: true, Alarms: []string{"NOSPACE"}}, []string{"member cp1 of etcd has raised the alarm NOSPACE", "defragment"}},
		{state.EtcdMember{Name: "cp1", Healthy: true, Alarms: []string{"CORRUPT"}}, []string{"member cp1 of etcd has raised the alarm CORRUPT", "-replace"}},
	} {
		got := memberCauses(c.member)
		if len(got) == 0 && c.want == nil {
			continue
		}
		if len(got) != 1 || c.want == nil || got[0].String() != c.want[0] || !strings.Contains(got[0].Remedy(), c.want[1]) {
			t.Errorf("%+v, want %q", got, c.want)
		}
	}
}

func TestStaticPodsWithoutManifest(t *testing.T) {
	t.Parallel()
	pods := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	if got := lacking(pods, &diagnosis.Report{}); len(got) != 0 {
		t.Errorf("a host without any manifest lacks %v", got)
	}
	got := lacking(pods, &diagnosis.Report{Manifests: []string{"kube-apiserver", "etcd"}, Containers: []diagnosis.Container{{Name: "kube-scheduler"}}})
	if len(got) != 1 || got[0].Subject != "static pod kube-controller-manager" {
		t.Errorf("%v", got)
	}
}

func TestUnansweredAPIHasARemedy(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"x509: certificate has expired or is not yet valid": "kubewright certificates",
		"connection refused": "see below",
	} {
		if got := noAPI(words); !strings.Contains(got.Remedy(), want) || got.Log[0] != words {
			t.Errorf("%s: %+v", words, got)
		}
	}
	if !strings.Contains(renewal(planner.ByApply), "kubewright apply") || !strings.Contains(renewal(planner.ByKubelet), "-replace") || renewal(planner.ByOperator) == "" {
		t.Error("a renewal has no remedy")
	}
}

// TestErrorsOfBeforeAreNotReported checks that what a kubelet has said while it joined is not a cause once its
// node is Ready.
func TestErrorsOfBeforeAreNotReported(t *testing.T) {
	t.Parallel()
	r := diagnosis.Report{Units: []diagnosis.Unit{{Name: "kubelet.service", Active: "active", Sub: "running", Errors: []string{
		`"Unable to register node with API server" err="nodes \"w1\" is forbidden: User \"system:anonymous\" cannot get resource" node="w1"`,
		`"Failed to pull image" err="ErrImagePull: pull access denied" pod="kube-system/own-w1"`,
	}}}}
	r.Containers = []diagnosis.Container{{Pod: "kube-proxy-a", Name: "kube-proxy", Running: true}}
	r.Units[0].Errors = append(r.Units[0].Errors, `"Error syncing pod, skipping" err="CreateContainerConfigError: services have not yet been read" pod="kube-system/kube-proxy-a"`)
	if got := lasting(r.Causes(), false); len(got) != 2 {
		t.Errorf("of a node that is not Ready: %+v", got)
	}
	if got := lasting(r.Causes(), true); len(got) != 1 || got[0].Subject != "pod own-w1" && got[0].Subject != "pod kube-system/own-w1" {
		t.Errorf("of a node that is Ready: %+v", got)
	}
}

func TestHostsThatForwardNothing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1, "vm.swappiness": 0} {
		got := forwardingOff(map[string]string{name: "0"})
		if len(got) != want || len(forwardingOff(map[string]string{name: "1"})) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
