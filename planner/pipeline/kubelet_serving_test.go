package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

const servingPair = pkiDir + "kubelet-server"

// wantReachable fails at each effect after which an API server would not trust a kubelet.
func (o *operator) wantReachable() {
	o.t.Helper()
	o.world.OnEffect = func(e sim.Effect) error {
		if e.Done {
			for _, d := range o.world.Distrust() {
				if strings.Contains(d, "kubelet on") {
					o.t.Errorf("%v: %s", e, d)
				}
			}
		}
		return nil
	}
}

// verifying returns the control planes whose API server verifies kubelets, and the nodes whose kubelets
// serve with a certificate of the cluster's CA.
func (o *operator) verifying() (servers, kubelets []string) {
	o.t.Helper()
	v := o.observe()
	for _, n := range o.config.Nodes {
		r := v.Reports[n.Target]
		if strings.Contains(string(r.Files[topology.Manifest("kube-apiserver")].Content), "--kubelet-certificate-authority="+pkiDir+"ca.crt") {
			servers = append(servers, n.Target.Key)
		}
		certs, ca := r.Files[servingPair+".crt"].Certificates, r.Files[pkiDir+"ca.crt"].Certificates
		if len(certs) == 1 && certs[0].IssuerKeyDigest == ca[0].KeyDigest && strings.Contains(string(r.Files["/var/lib/kubelet/config.yaml"].Content), servingPair+".crt") {
			kubelets = append(kubelets, n.Target.Key)
		}
	}
	return servers, kubelets
}

// wantVerified checks that all kubelets are verified, or none.
func (o *operator) wantVerified(all bool) {
	o.t.Helper()
	var planes, nodes []string
	for _, n := range o.config.Nodes {
		if all && n.Role == config.ControlPlane {
			planes = append(planes, n.Target.Key)
		}
		if all {
			nodes = append(nodes, n.Target.Key)
		}
	}
	if servers, kubelets := o.verifying(); !slices.Equal(servers, planes) || !slices.Equal(kubelets, nodes) {
		o.t.Errorf("verified by %v: %v, want %v: %v", servers, kubelets, planes, nodes)
	}
}

func (o *operator) serve(on bool) { o.config.Clusters[0].Certificates.KubeletServing = on }

// TestKubeletServingLife checks the certificates of kubelets from a bootstrap over joins, a renewal and a
// rotation to their removal: at no time an API server calls a kubelet that it does not trust.
func TestKubeletServingLife(t *testing.T) {
	t.Parallel()
	cfg := cluster(2, 1)
	cfg.Clusters[0].Certificates.KubeletServing = true
	o := newOperator(t, cfg)
	o.wantReachable()
	o.must(o.apply())
	o.wantVerified(true)

	o.world.Advance(340 * 24 * time.Hour)
	p, err := o.plan()
	o.must(err)
	_, shown := restarts(p)
	for _, address := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.21"} {
		if !slices.Contains(shown, servingPair+".crt at https://"+address+":10250") {
			t.Errorf("waits to see %v", shown)
		}
	}
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if u, ok := op.(planner.Unit); ok && u.Unit == topology.KubeletUnit {
				t.Errorf("%s: %s of the kubelet", s.ID, u.Action)
			}
		}
	}
	o.must(o.carryOut())
	o.wantNothing()

	o.rotate = []topology.Rotation{rotationOf(t, "ca")}
	o.must(o.apply())
	o.rotate = nil
	o.wantVerified(true)

	o.serve(false)
	o.must(o.apply())
	o.wantVerified(false)
	o.wantNothing()
	if left := o.files("10.0.0.21", "kubelet-server.key"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestKubeletServingBegins checks that in a running cluster all kubelets get their certificates before
// the first API server verifies them, and that an interrupted apply changes nothing about that.
func TestKubeletServingBegins(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"", "kubelet-start", "control-plane"} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 2)
			o.serve(true)
			o.wantReachable()
			p, err := o.plan()
			o.must(err)
			last, server := 0, -1
			for i, s := range p.Steps {
				switch {
				case s.Phase == topology.KubeletStartPhase:
					last = i
				case s.Phase == topology.ControlPlanePhase && server < 0:
					server = i
				}
			}
			if server < last {
				t.Errorf("an API server verifies kubelets too early:\n%s", describe(p))
			}
			if stop != "" {
				o.fleet = o.observe()
				r, diags := o.planOf(o.fleet, planner.Options{Excludes: []planner.Selector{{Target: o.config.Nodes[1].Target, Phase: stop}}})
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				o.result, o.fleet = r, r.Fleet
				o.must(o.carryOut())
			}
			o.must(o.apply())
			o.wantVerified(true)
			o.wantNothing()
		})
	}
}

// TestKubeletServingHeldBack checks that API servers do not begin to verify kubelets while a node has no
// certificate that they would accept, and which node that is.
func TestKubeletServingHeldBack(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	other := o.config.Nodes[1]
	o.config.Nodes = o.config.Nodes[:1]
	recorded := *o.recorded
	o.recorded.Nodes = map[state.Target]*state.RecordedNode{o.config.Nodes[0].Target: recorded.Nodes[o.config.Nodes[0].Target]}
	o.recorded.Items = slices.DeleteFunc(slices.Clone(recorded.Items), func(it state.Item) bool { return it.Address.Target == other.Target })
	o.serve(true)
	o.wantReachable()
	_, err := o.planShown()
	o.must(err)
	if said := fmt.Sprint(o.said); !strings.Contains(said, "Kubelets are not verified yet") || !strings.Contains(said, "manages host-10-0-0-21") {
		t.Errorf("says %s", said)
	}
	o.must(o.carryOut())
	if servers, kubelets := o.verifying(); len(servers) > 0 || !slices.Equal(kubelets, []string{"cp1"}) {
		t.Errorf("verified by %v: %v", servers, kubelets)
	}
	o.wantNothing()

	// With the node in the configuration nothing holds it back.
	o.config.Nodes = append(o.config.Nodes, other)
	o.recorded.Nodes[other.Target] = recorded.Nodes[other.Target]
	o.must(o.apply())
	o.wantVerified(true)

	// Without it again, logs and exec fail there, which a plan says.
	o.config.Nodes = o.config.Nodes[:1]
	delete(o.recorded.Nodes, other.Target)
	o.recorded.Items = slices.DeleteFunc(slices.Clone(o.recorded.Items), func(it state.Item) bool { return it.Address.Target == other.Target })
	p, err := o.planShown()
	o.must(err)
	if said := fmt.Sprint(o.said); len(p.Steps) > 0 || !strings.Contains(said, "Kubelets are not trusted") {
		t.Errorf("says %s:\n%s", said, describe(p))
	}
}

// TestKubeletServingWaits checks what makes API servers wait before they begin to verify kubelets.
func TestKubeletServingWaits(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 1)
	o.serve(true)
	for name, c := range map[string]struct {
		with func(v *topology.Fleet)
		says string
	}{
		"version": {func(v *topology.Fleet) {
			raised := *v.Config.Clusters[0]
			raised.KubernetesVersion = "1.37.0"
			cfg := *v.Config
			cfg.Clusters = []*config.Cluster{&raised}
			v.Config = &cfg
		}, "the version of Kubernetes changes in this plan"},
		"rotation": {func(v *topology.Fleet) { v.Rotate = []topology.Rotation{rotationOf(t, "front-proxy-ca")} }, "a CA is replaced in this plan"},
		"damage": {func(v *topology.Fleet) {
			pod := v.ClusterReports["prod"].StaticPods["kube-apiserver-host-10-0-0-12"]
			pod.Ready = false
			v.ClusterReports["prod"].StaticPods["kube-apiserver-host-10-0-0-12"] = pod
		}, `kube-apiserver on node.cp["cp2"] does not serve`},
		"address": {func(v *topology.Fleet) {
			for name, n := range v.ClusterReports["prod"].Nodes {
				if slices.Contains(n.InternalIPs, "10.0.0.21") {
					n.InternalIPs = []string{"192.0.2.21"}
					v.ClusterReports["prod"].Nodes[name] = n
				}
			}
		}, `the kubelet of node.worker["w1"] at 192.0.2.21, which is not in its certificate`},
	} {
		t.Run(name, func(t *testing.T) {
			v := o.observe()
			c.with(v)
			_, diags := o.planOf(v, planner.Options{})
			show(t, diags...)
			if !strings.Contains(fmt.Sprint(diags), c.says) {
				t.Errorf("want %q, says %v", c.says, diags)
			}
		})
	}
}

// TestKubeletServingWhileComponentFails checks that API servers begin to verify kubelets while another
// component of a control plane is not ready, runs another manifest, is broken or missing.
func TestKubeletServingWhileComponentFails(t *testing.T) {
	t.Parallel()
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		for name, seen := range map[string]func(v *topology.Fleet){
			"another manifest": pod(component, func(p *state.StaticPodReport) { p.Hash = "another" }),
			"outdated": func(v *topology.Fleet) {
				pod(component, func(p *state.StaticPodReport) { p.Hash = "another" })(v)
				older(component)(v)
			},
		} {
			t.Run(component+" "+name, func(t *testing.T) {
				t.Parallel()
				o := founded(t, 3, 1)
				o.serve(true)
				wantVerifiedLast(t, o.planSeeing(seen))
			})
		}
		t.Run(component+" broken", func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			breaking[component](o.config.Clusters[0], config.Arg{Name: "audit-policy-file", Value: absentFile})
			if err := o.apply(); err == nil {
				t.Fatal("the apply succeeded, and a component does not run")
			}
			breaking[component](o.config.Clusters[0])
			o.serve(true)
			o.wantReachable()
			o.must(o.apply()) // repairs it, and gives kubelets their certificates
			o.must(o.apply())
			o.wantVerified(true)
			o.wantNothing()
		})
		t.Run(component+" missing", func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			o.edit("10.0.0.12", "file "+topology.Manifest(component)+" delete")
			o.serve(true)
			o.wantReachable()
			o.must(o.apply())
			o.must(o.apply())
			o.wantVerified(true)
			o.wantNothing()
		})
	}
}

// wantVerifiedLast checks that a plan lets API servers verify kubelets, each after all kubelets.
func wantVerifiedLast(t *testing.T, p *planner.Plan) {
	t.Helper()
	kubelets, servers := 0, 0
	for _, s := range p.Steps {
		switch s.Phase {
		case topology.KubeletStartPhase:
			kubelets++
			if servers > 0 {
				t.Errorf("%s comes after an API server verifies kubelets", s.ID)
			}
		case topology.ControlPlanePhase:
			servers++
		}
	}
	if kubelets != 4 || servers != 3 {
		t.Errorf("%d kubelets, %d API servers:\n%s", kubelets, servers, describe(p))
	}
}

// TestKubeletServingWithOperatorCA checks the certificates of kubelets where the key of the cluster's CA is
// with the operator, and where they are supplied, in a new and in a running cluster.
func TestKubeletServingWithOperatorCA(t *testing.T) {
	t.Parallel()
	for _, custody := range []string{"on hosts", "with the operator", "without key"} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, later %v", custody, late), func(t *testing.T) {
				t.Parallel()
				r := newReissuing(t, custody)
				r.wantReachable()
				if late {
					r.must(r.apply())
				}
				r.serve(true)
				if custody == "without key" {
					r.holder.sign(simulated.AddDate(1, 0, 0), nil)
				}
				r.must(r.apply())
				r.wantVerified(true)
				r.serve(false)
				r.must(r.apply())
				r.wantVerified(false)
				r.wantNothing()
			})
		}
	}
}

// TestKubeletServingJoins checks that nodes that join get their certificates from the start, and that nodes
// that are removed keep nothing.
func TestKubeletServingJoins(t *testing.T) {
	t.Parallel()
	cfg := cluster(3, 2)
	all := cfg.Nodes
	cfg.Clusters[0].Certificates.KubeletServing = true
	cfg.Nodes = []*config.Node{all[0], all[3]}
	o := newOperator(t, cfg)
	o.wantReachable()
	o.must(o.apply())
	o.config.Nodes = all
	o.must(o.apply())
	o.wantVerified(true)
	o.config.Nodes = all[:4]
	o.must(o.apply())
	if left := o.files(all[4].Address, "kubelet-server.key"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}

	// Joins and the beginning at once.
	late := founded(t, 1, 1)
	late.wantReachable()
	late.serve(true)
	late.config.Nodes = slices.Insert(slices.Clone(late.config.Nodes), 1, cluster(3, 1).Nodes[1:3]...)
	late.must(late.apply())
	late.wantVerified(true)
}
