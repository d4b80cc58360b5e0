package pipeline_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner/topology"
)

// TestRotationRefusedOnDamagedItems checks that no rotation begins while an item that it changes is missing, was
// changed or does not run, since its stages would fail there; an apply without the rotation repairs
// that.
func TestRotationRefusedOnDamagedItems(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	const cp2, w1 = "10.0.0.12", "10.0.0.21"
	for name, c := range map[string]struct{ ca, host, edit, says string }{
		"a worker's kubeconfig": {"ca", w1, "file /etc/kubernetes/kubelet.conf delete", `node.worker["w1"] (10.0.0.21): the kubelet cannot restart, because its kubeconfig is missing (/etc/kubernetes/kubelet.conf)`},
		"a plane's kubeconfig":  {"ca", cp2, "file /etc/kubernetes/kubelet.conf delete", `node.cp["cp2"] (10.0.0.12): the kubelet cannot restart, because its kubeconfig is missing`},
		"no kubeconfig":         {"ca", cp2, "file /etc/kubernetes/controller-manager.conf content x", `node.cp["cp2"] (10.0.0.12): kubeconfig "/etc/kubernetes/controller-manager.conf": not a kubeconfig`},
		"no CA on a worker":     {"ca", w1, "file /etc/kubernetes/pki/ca.crt delete", `node.worker["w1"] (10.0.0.21): certificate "/etc/kubernetes/pki/ca" is missing`},
		"no key":                {"front-proxy-ca", cp2, "file /etc/kubernetes/pki/apiserver.key delete", `certificate "/etc/kubernetes/pki/apiserver": /etc/kubernetes/pki/apiserver.key is missing`},
		"no manifest":           {"etcd-ca", cp2, "file /etc/kubernetes/manifests/etcd.yaml delete", `file "/etc/kubernetes/manifests/etcd.yaml" is missing`},
		"another manifest":      {"service-account", cp2, "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false", `file "/etc/kubernetes/manifests/kube-apiserver.yaml" was changed (`},
		"a kubelet that stands": {"etcd-ca", cp2, "unit kubelet.service stop", `node.cp["cp2"] (10.0.0.12): unit "kubelet.service" is not running`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			o.edit(c.host, c.edit)
			o.rotate = []topology.Rotation{rotationOf(t, c.ca)}
			wantRefused(t, o, "Cluster must be repaired before a rotation", "cluster.prod/"+c.ca+": the following differs from what the last apply left", c.says, "Apply without ⟨+replace⟩ first", "then rotate:\n\n  ⟨apply⟩\n")
			o.rotate = nil
			o.must(o.apply())
			o.rotate = []topology.Rotation{rotationOf(t, c.ca)}
			o.must(o.apply())
			o.rotate = nil
			if c.ca != "service-account" { // whose rotation waits for tokens
				o.wantNothing()
			}
		})
	}
}

// TestRotationIgnoresUnrelatedDamage checks that damage that a rotation does not touch does not prevent it.
func TestRotationIgnoresUnrelatedDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ca, edit string }{
		"a worker, which does not hear of etcd's CA": {"etcd-ca", "file /etc/kubernetes/kubelet.conf delete"},
		"a label": {"ca", "label host-10-0-0-21 " + "node.example.com/pool-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 1)
			o.edit("10.0.0.21", c.edit)
			o.rotate = []topology.Rotation{rotationOf(t, c.ca)}
			o.must(o.apply())
			o.rotate = nil
			o.wantNothing()
		})
	}
}

// TestLostFilesAreRewrittenWhileRotating checks that the stages of a rotation rewrite what is lost in between, and
// that all components trust each other throughout. Without KUBEWRIGHT_LONG every third combination is
// tried.
func TestLostFilesAreRewrittenWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	const cp2, w1 = "10.0.0.12", "10.0.0.21"
	damages := map[string]struct{ host, edit string }{
		"a worker's kubeconfig":    {w1, "file /etc/kubernetes/kubelet.conf delete"},
		"a plane's kubeconfig":     {cp2, "file /etc/kubernetes/kubelet.conf delete"},
		"no kubeconfig in it":      {cp2, "file /etc/kubernetes/kubelet.conf content x"},
		"a controller's":           {cp2, "file /etc/kubernetes/controller-manager.conf delete"},
		"nothing in a scheduler's": {cp2, "file /etc/kubernetes/scheduler.conf content x"},
		"an administrator's":       {cp2, "file /etc/kubernetes/admin.conf delete"},
		"a plane's CA":             {cp2, "file /etc/kubernetes/pki/ca.crt delete"},
		"a worker's CA":            {w1, "file /etc/kubernetes/pki/ca.crt delete"},
		"the new CA":               {cp2, "file /etc/kubernetes/pki/ca-next.crt delete"},
		"the new CA's key":         {cp2, "file /etc/kubernetes/pki/ca-next.key delete"},
		"an etcd":                  {cp2, "file /etc/kubernetes/manifests/etcd.yaml delete"},
		"an API server":            {cp2, "file /etc/kubernetes/manifests/kube-apiserver.yaml delete"},
		"a controller manager":     {cp2, "file /etc/kubernetes/manifests/kube-controller-manager.yaml delete"},
		"a scheduler":              {cp2, "file /etc/kubernetes/manifests/kube-scheduler.yaml delete"},
	}
	tried := every(3)
	for _, at := range []struct{ stage, phase string }{{"trust-both", "kubelet-start"}, {"reissue", "certs"}, {"reissue", "kubelet-start"}, {"drop-old", "certs"}, {"drop-old", "kubelet-start"}} {
		cut := rotating(t, base, "ca", at.stage, at.phase)
		for _, name := range slices.Sorted(maps.Keys(damages)) {
			c := damages[name]
			if !tried() {
				continue
			}
			t.Run(name+"/"+at.stage+"/"+at.phase, func(t *testing.T) {
				t.Parallel()
				o := cut.copy(t)
				o.edit(c.host, c.edit)
				o.must(o.apply())
				for _, d := range o.world.Distrust() {
					t.Error(d)
				}
				o.wantNothing()
			})
		}
	}
}

// TestLostStaticPodsStartWhileRotating checks that static pods that are lost during any rotation start before it
// continues, and then load new files like all others. Without KUBEWRIGHT_LONG every third combination
// is tried.
func TestLostStaticPodsStartWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	tried := every(3)
	for _, at := range []struct{ ca, stage, phase string }{
		{"ca", "trust-both", "control-plane"},
		{"ca", "reissue", "control-plane"},
		{"ca", "drop-old", "control-plane"},
		{"etcd-ca", "trust-both", "etcd"},
		{"etcd-ca", "reissue", "certs"},
		{"etcd-ca", "reissue", "etcd"},
		{"etcd-ca", "drop-old", "certs"},
		{"etcd-ca", "drop-old", "etcd"},
		{"front-proxy-ca", "trust-both", "control-plane"},
		{"front-proxy-ca", "reissue", "certs"},
		{"front-proxy-ca", "drop-old", "certs"},
		{"service-account", "trust-both", "control-plane"},
		{"service-account", "reissue", "certs"},
		{"service-account", "reissue", "control-plane"},
	} {
		cut := rotating(t, base, at.ca, at.stage, at.phase)
		for _, pods := range [][]string{{"etcd"}, {"kube-apiserver"}, {"kube-controller-manager"}, {"kube-scheduler"}, {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}} {
			for _, host := range []string{"10.0.0.11", "10.0.0.12"} {
				if !tried() {
					continue
				}
				t.Run(strings.Join(pods, "+")+"/"+at.ca+"/"+at.stage+"/"+at.phase+"/"+host, func(t *testing.T) {
					t.Parallel()
					o := cut.copy(t)
					for _, pod := range pods {
						o.edit(host, "file /etc/kubernetes/manifests/"+pod+".yaml delete")
					}
					o.continues(at.ca)
				})
			}
		}
	}
}

// continues completes a rotation, and checks that all components trust each other then.
func (o *operator) continues(ca string) {
	o.t.Helper()
	o.must(o.apply())
	for _, d := range o.world.Distrust() {
		o.t.Error(d)
	}
	if ca != "service-account" { // whose rotation waits for tokens
		o.wantNothing()
	}
}

// TestLostCertificatesAreReissuedWhileRotating checks that certificates that are lost during any rotation are
// issued before it continues, since the components that read them would not come up. Without
// KUBEWRIGHT_LONG every seventh combination is tried.
func TestLostCertificatesAreReissuedWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	leaves, hosts := []string{"apiserver", "etcd/server", "apiserver-etcd-client", "front-proxy-client"}, []string{"10.0.0.11", "10.0.0.12"}
	tried := every(7)
	for _, at := range []struct{ ca, stage, phase string }{
		{"ca", "trust-both", "control-plane"},
		{"ca", "reissue", "control-plane"},
		{"ca", "drop-old", "certs"},
		{"ca", "drop-old", "kubelet-start"},
		{"etcd-ca", "trust-both", "etcd"},
		{"etcd-ca", "reissue", "etcd"},
		{"etcd-ca", "drop-old", "etcd"},
		{"service-account", "trust-both", "control-plane"},
		{"service-account", "reissue", "control-plane"},
	} {
		cut := rotating(t, base, at.ca, at.stage, at.phase)
		for _, leaf := range leaves {
			for _, host := range hosts {
				if !tried() {
					continue
				}
				t.Run(leaf+"/"+at.ca+"/"+at.stage+"/"+at.phase+"/"+host, func(t *testing.T) {
					t.Parallel()
					o := cut.copy(t)
					o.edit(host, "file "+pkiDir+leaf+".crt delete", "power reboot")
					o.world.Advance(time.Minute)
					o.continues(at.ca)
				})
			}
		}
	}
}

// TestControlPlaneBootsWhileRotating checks that a control plane that boots during a rotation does not prevent it
// from continuing. A controller manager without an argument for the CA to sign with does not start with
// a file of both CAs, until a stage adds the argument.
func TestControlPlaneBootsWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	for _, at := range []struct{ stage, phase string }{
		{"trust-both", "kubeconfig"}, {"trust-both", "control-plane"}, {"reissue", "control-plane"}, {"drop-old", "control-plane"},
	} {
		cut := rotating(t, base, "ca", at.stage, at.phase)
		for _, host := range []string{"10.0.0.11", "10.0.0.12"} {
			for _, wait := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprintf("%s/%s/%s/%s", at.stage, at.phase, host, wait), func(t *testing.T) {
					t.Parallel()
					o := cut.copy(t)
					o.edit(host, "power reboot")
					o.world.Advance(wait)
					o.must(o.apply())
					o.wantNothing()
				})
			}
		}
	}
}
