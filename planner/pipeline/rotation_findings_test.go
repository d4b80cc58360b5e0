package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// rotationOf parses a name as -replace takes it.
func rotationOf(t testing.TB, name string) topology.Rotation {
	t.Helper()
	r, ok := rotation.ParseRotation("cluster.prod/" + name)
	if !ok {
		t.Fatalf("%s is no rotation", name)
	}
	return r
}

// argued returns a change that sets an argument of a component, on line 42.
func argued(of func(*config.Cluster) *config.Component, block, name, value string) func(*operator, *topology.Fleet) {
	return func(o *operator, _ *topology.Fleet) {
		c, at := o.config.Clusters[0], state.Source{File: "main.hcl", Line: 42}
		of(c).Args = []config.Arg{{Name: name, Value: value, Source: at}}
		c.Origins = config.Origins{block + ".arg." + name: at}
	}
}

func apiServer(c *config.Cluster) *config.Component         { return &c.APIServer.Component }
func controllerManager(c *config.Cluster) *config.Component { return &c.ControllerManager }

// TestRotationFindings checks what prevents the rotation of a CA or of the service account keys, or
// accompanies it.
func TestRotationFindings(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 0)
	keyed := func(n int) func(*operator, *topology.Fleet) {
		return func(o *operator, v *topology.Fleet) {
			see(v, o.config.Nodes[1], pkiDir+"sa.pub", func(f *state.FileReport) {
				if f.PublicKeys = append(f.PublicKeys, "another")[:n]; n == 0 {
					f.Invalid = "no public key in the file"
				}
			})
		}
	}
	for name, c := range map[string]struct {
		rotate string
		seen   func(*operator, *topology.Fleet)
		want   finding
	}{
		"several CAs": {"ca", func(o *operator, v *topology.Fleet) {
			see(v, o.config.Nodes[1], pkiDir+"ca.crt", func(f *state.FileReport) {
				f.Certificates = append(f.Certificates, state.CertificateInfo{KeyDigest: "other"})
			})
		}, finding{diag.Error, "CA file has several CAs", "main.hcl:12", `node.cp["cp2"]`, []string{
			`node.cp["cp2"] (10.0.0.12) has 2 certificates in /etc/kubernetes/pki/ca.crt`, "Keep only the CA with which the cluster signs in that file",
		}}},
		"no key": {"service-account", keyed(0), finding{diag.Error, "Service account key cannot be read", "main.hcl:12", `node.cp["cp2"]`, []string{
			`cannot read /etc/kubernetes/pki/sa.pub of node.cp["cp2"] (10.0.0.12): no public key in the file`, "another control plane",
		}}},
		"several keys": {"service-account", keyed(2), finding{diag.Error, "Service account key file has several keys", "main.hcl:12", `node.cp["cp2"]`, []string{
			`/etc/kubernetes/pki/sa.pub of node.cp["cp2"] (10.0.0.12) has 2 public keys`, "Keep only the key with which tokens are signed in that file",
		}}},
		"keys of the operator's": {"service-account", func(o *operator, _ *topology.Fleet) {
			o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "service-account-signing-key-file", Value: "/etc/mine/sa.key"}}
		}, finding{diag.Error, "Service account keys are managed outside kubewright", "main.hcl:1", "cluster.prod", []string{
			"cluster.prod/service-account: the configuration sets kube-apiserver's --service-account-signing-key-file, so that the keys are not those of /etc/kubernetes/pki/sa",
			"add the new public key beside the old one",
		}}},
		"another client CA": {"ca", argued(apiServer, "api_server", "client_ca_file", pkiDir+"clients.crt"), finding{diag.Error, "Flag names another file", "main.hcl:42", "cluster.prod", []string{
			`cluster.prod/ca: the configuration sets kube-apiserver's --client-ca-file to "/etc/kubernetes/pki/clients.crt" on node.cp["cp1"] (10.0.0.11), but while the CA is rotated it must be "/etc/kubernetes/pki/ca.crt"`,
			"otherwise the component would keep the old CA, or would not start, since a controller manager cannot sign with a file of two CAs.",
			"Remove the flag, or the patch that sets it, from the configuration, apply that, and run the same command again. ",
			"Other CAs in its file are not trusted meanwhile: restore the flag when the rotation is complete, with the new CA in that file.",
		}}},
		// It is the default, and the file would be a bundle by then.
		"a fixed CA to sign with": {"ca", argued(controllerManager, "controller_manager", "cluster-signing-cert-file", pkiDir+"ca.crt"), finding{diag.Error, "Flag names another file", "main.hcl:42", "cluster.prod", []string{
			`the configuration sets kube-controller-manager's --cluster-signing-cert-file to "/etc/kubernetes/pki/ca.crt"`, `it must be "/etc/kubernetes/pki/ca-old.crt"`,
		}}},
		"a CA to sign kubelets' with": {"ca", argued(controllerManager, "controller_manager", "cluster-signing-kubelet-client-cert-file", pkiDir+"ca.crt"), finding{diag.Error, "Flag names another file", "main.hcl:42", "cluster.prod", []string{
			`the configuration sets kube-controller-manager's --cluster-signing-kubelet-client-cert-file to "/etc/kubernetes/pki/ca.crt"`, "while the CA is rotated it must not be set: ",
		}}},
		"another CA of one kubelet": {"ca", func(o *operator, _ *topology.Fleet) {
			n := o.config.Nodes[1]
			n.Kubelet.Config = state.FromGo(map[string]any{"authentication": map[string]any{"x509": map[string]any{"clientCAFile": "/etc/mine.crt"}}})
			n.Origins = config.Origins{"kubelet.config.authentication.x509.clientCAFile": state.Source{File: "main.hcl", Line: 43}}
		}, finding{diag.Error, "Flag names another file", "main.hcl:43", "cluster.prod", []string{
			`the configuration sets the kubelet's authentication.x509.clientCAFile to "/etc/mine.crt" on node.cp["cp2"] (10.0.0.12)`,
		}}},
		"another CA of the front proxy": {"front-proxy-ca", argued(apiServer, "api_server", "requestheader-client-ca-file", "/etc/mine.crt"), finding{diag.Error, "Flag names another file", "main.hcl:42", "cluster.prod", []string{
			"cluster.prod/front-proxy-ca: the configuration sets kube-apiserver's --requestheader-client-ca-file",
		}}},
		"another CA of etcd, by a patch": {"etcd-ca", func(o *operator, _ *topology.Fleet) {
			o.config.Clusters[0].Patches = []config.Patch{{
				Target: "etcd", Type: "json", Source: state.Source{File: "main.hcl", Line: 44},
				Content: `[{"op": "add", "path": "/spec/containers/0/command/-", "value": "--trusted-ca-file=/etc/mine.crt"}]`,
			}}
		}, finding{diag.Error, "Flag names another file", "main.hcl:44", "cluster.prod", []string{
			`cluster.prod/etcd-ca: the configuration sets etcd's --trusted-ca-file to "/etc/mine.crt"`, `it must be "/etc/kubernetes/pki/etcd/ca.crt"`,
		}}},
		"tokens that stay": {"service-account", func(_ *operator, v *topology.Fleet) {
			v.ClusterReports["prod"].TokenSecrets = []state.TokenSecret{{Namespace: "ci", Name: "robot"}}
		}, finding{diag.Warning, "Service account tokens in Secrets are not renewed", "main.hcl:1", "cluster.prod", []string{
			"hold tokens of the old key: ci/robot. They are accepted until the old key is dropped, which waits for them.", "delete them, recreate those that are needed",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			o.rotate = []topology.Rotation{rotationOf(t, c.rotate)}
			v := o.observe()
			c.seen(o, v)
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, c.want)
		})
	}
}

// TestRotationNamesTokensThatBecomeInvalid checks that a plan that drops the old service account key at once names the
// tokens that become invalid.
func TestRotationNamesTokensThatBecomeInvalid(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	places(o.config)
	o.rotate = []topology.Rotation{rotationOf(t, "service-account")}
	o.must(o.apply())
	v := o.observe()
	v.ClusterReports["prod"].TokenSecrets = []state.TokenSecret{{Namespace: "ci", Name: "robot"}}
	_, diags := o.planOf(v, planner.Options{SkipPhases: []string{"token-renewal"}})
	wantFindings(t, diags, finding{diag.Warning, "Service account tokens in Secrets are not renewed", "main.hcl:1", "cluster.prod", []string{
		"ci/robot. They are no longer accepted when this plan is done",
	}})
}

// TestInterruptedRotationCleanupDoesNotRotateAgain checks that a command that was interrupted while it removed the files of its
// rotation does not rotate again, and says so. The next command does.
func TestInterruptedRotationCleanupDoesNotRotateAgain(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"front-proxy-ca": "front-proxy-ca-next.crt", "service-account": "sa-next.pub"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 2, 0)
			places(o.config)
			planned := func(options planner.Options) diag.Diagnostics {
				o.rotate = []topology.Rotation{rotationOf(t, name)}
				o.fleet = o.observe()
				r, diags := o.planOf(o.fleet, options)
				o.result, o.fleet = r, r.Fleet
				return diags
			}
			if name == "service-account" { // a later plan drops its old key
				planned(planner.Options{})
				o.must(o.carryOut())
			}
			if diags := planned(planner.Options{SkipPhases: []string{"token-renewal"}}); diags.HasErrors() || len(o.result.Plan.Rotations) != 1 {
				t.Fatalf("the rotation is not planned: %v", diags)
			}
			dead := false
			o.world.OnEffect = func(e sim.Effect) error {
				if dead = dead || e.Op == "remove_path" && strings.Contains(e.Detail, last); dead {
					return errCrash
				}
				return nil
			}
			if o.carryOut() == nil {
				t.Fatal("nothing was removed")
			}
			o.world.OnEffect = nil

			wantFindings(t, planned(planner.Options{}), finding{diag.Warning, "Rotation is already complete", "main.hcl:1", "cluster.prod", []string{
				"⟨+rotate=cluster.prod/" + name + "⟩: an earlier rotation is complete, but was interrupted", "run the same command when that is done",
			}})
			for _, s := range o.result.Plan.Steps {
				if s.ID.Waypoint != "rotated" {
					t.Errorf("unexpected step %s", s.ID)
				}
			}
			o.must(o.carryOut())
			if diags := planned(planner.Options{}); diags.HasErrors() || len(o.result.Plan.Rotations) != 1 {
				t.Errorf("the rotation is not planned again: %v", diags)
			}
		})
	}
}

// TestRotationIgnoresLeftoverCopyOfOperatorCA checks that a leftover second copy of a given CA does not prevent other rotations.
func TestRotationIgnoresLeftoverCopyOfOperatorCA(t *testing.T) {
	t.Parallel()
	o := newOperator(t, withCAs(t, 2, 0, true, "ECDSA"))
	o.must(o.apply())
	o.rotate = []topology.Rotation{rotationOf(t, "service-account")}
	v := o.observe()
	seat := o.config.Nodes[0]
	see(v, seat, pkiDir+"ca-next.crt", func(f *state.FileReport) { *f = v.Reports[seat.Target].Files[pkiDir+"ca.crt"] })
	r, diags := o.planOf(v, planner.Options{})
	if diags.HasErrors() || len(r.Plan.Rotations) != 1 {
		t.Errorf("the keys are not rotated: %v", diags)
	}
}

// TestExpiredFrontProxyCAIsOnlyReported checks that an expired front proxy's CA, without which the API answers, is
// only reported until a rotation is requested, and prevents no repair.
func TestExpiredFrontProxyCAIsOnlyReported(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	ended := func(o *operator) *topology.Fleet {
		v := o.observe()
		for _, n := range o.config.NodesOf("prod", config.ControlPlane) {
			see(v, n, pkiDir+"front-proxy-ca.crt", func(f *state.FileReport) { f.Certificates[0].NotAfter = v.ObservedAt.Add(-time.Hour) })
		}
		return v
	}
	told := finding{diag.Warning, "CA certificate has expired", "main.hcl:1", "cluster.prod", []string{
		`The CA "front-proxy-ca" (/etc/kubernetes/pki/front-proxy-ca.crt) expired on 2026-03-02 `, "API servers answer without it", "metrics.k8s.io", "⟨apply +rotate=cluster.prod/front-proxy-ca⟩",
	}}
	for name, c := range map[string]struct {
		before func(*operator)
		seen   func(*topology.Fleet)
		want   []finding
		plan   func(*planner.Plan) bool
	}{
		"warned": {nil, nil, []finding{told}, (*planner.Plan).Empty},
		"rotated": {func(o *operator) { o.rotate = []topology.Rotation{rotationOf(t, "front-proxy-ca")} }, nil, nil, func(p *planner.Plan) bool {
			stages := map[string]bool{}
			for _, s := range p.Steps {
				stages[s.ID.Waypoint] = true
			}
			return stages["trust-both"] && stages["reissue"] && stages["drop-old"] && len(p.Rotations) == 1 && !stages["replaced"]
		}},
		"a worker leaves": {func(o *operator) { o.leave("w1") }, nil, []finding{told}, func(p *planner.Plan) bool { return len(p.Steps) > 0 }},
		"the API is to be repaired": {
			func(o *operator) {
				for _, n := range o.config.NodesOf("prod", config.ControlPlane) {
					o.edit(n.Address, "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
				}
			},
			func(v *topology.Fleet) {
				delete(v.ClusterReports, "prod")
				v.ClusterErrors["prod"] = "connection refused"
			},
			[]finding{told},
			func(p *planner.Plan) bool {
				return len(p.Steps) == 3 && len(p.Withheld) == 1 && p.Withheld[0].Target == state.ClusterTarget("prod") &&
					strings.Contains(p.Withheld[0].Remedy, "When it answers again, apply once more: objects in the API are observed then.")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			if c.before != nil {
				c.before(o)
			}
			v := ended(o)
			if c.seen != nil {
				c.seen(v)
			}
			r, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, c.want...)
			if r.Plan == nil || !c.plan(r.Plan) {
				t.Errorf("the plan is not as expected:\n%s", describe(r.Plan))
			}
		})
	}
}
