package pipeline_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

const (
	tokenHalf   = "0123456789abcdef"
	tokenSecret = "v1/Secret/kube-system/bootstrap-token-"
)

func token(text string, ttl time.Duration) config.BootstrapToken {
	t := config.BootstrapToken{TTL: ttl, Usages: config.DefaultTokenUsages(), Groups: config.DefaultTokenGroups()}
	if text != "" {
		t.Token = state.NewSecret([]byte(text))
	}
	return t
}

// secretOf returns a Secret of kube-system as the API shows it; null when it does not exist.
func (o *operator) secretOf(name string) state.Value {
	o.t.Helper()
	return o.observe().ClusterReports["prod"].Objects[state.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "kube-system", Name: name}]
}

func decoded(object state.Value, key string) string {
	b, _ := base64.StdEncoding.DecodeString(object.Get("data").AsMap()[key].AsString())
	return string(b)
}

// wantClean checks that plan and state contain no secret half of a token, and no certificate key.
func (o *operator) wantClean(secrets ...string) {
	o.t.Helper()
	text := describe(o.result.Plan)
	for _, s := range o.result.Plan.Steps {
		b, err := s.Operations.MarshalJSON()
		o.must(err)
		text += string(b)
	}
	for _, it := range o.recorded.Items {
		b, err := it.Attributes.MarshalJSON()
		o.must(err)
		text += string(b)
	}
	for _, s := range secrets {
		if strings.Contains(text, s) {
			o.t.Errorf("%q shows in plan or state", s)
		}
	}
}

// TestBootstrapTokensFollowConfiguration checks that tokens exist as configured; an expired one is not recreated, one
// without an expiry is, and a change is made in place.
func TestBootstrapTokensFollowConfiguration(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 1)
	given, generated, lasting := token("abcdef."+tokenHalf, 0), token("", 24*time.Hour), token("ghijkl.fedcba9876543210", 0)
	given.Expires, given.Description = "2030-01-02T16:04:05+01:00", "given"
	cfg.Clusters[0].BootstrapTokens = []config.BootstrapToken{given, generated, lasting}
	o := newOperator(t, cfg)
	o.must(o.apply())
	o.wantClean(tokenHalf, "fedcba9876543210")
	o.wantNothing()

	s := o.secretOf("bootstrap-token-abcdef")
	for key, want := range map[string]string{
		"token-id": "abcdef", "token-secret": tokenHalf, "description": "given", "expiration": "2030-01-02T15:04:05Z",
		"usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
	} {
		if got := decoded(s, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var made string
	for ref := range o.fleet.ClusterReports["prod"].Objects {
		if id, ok := strings.CutPrefix(ref.Name, "bootstrap-token-"); ok && id != "abcdef" && id != "ghijkl" {
			made = id
		}
	}
	if half := decoded(o.secretOf("bootstrap-token-"+made), "token-secret"); len(made) != 6 || len(half) != 16 {
		t.Fatalf("generated token %q has the second half %q", made, half)
	}

	// With another description the generated half stays.
	half := decoded(o.secretOf("bootstrap-token-"+made), "token-secret")
	cfg.Clusters[0].BootstrapTokens[1].Description = "for the lab"
	o.must(o.apply())
	o.wantNothing()
	if s := o.secretOf("bootstrap-token-" + made); decoded(s, "token-secret") != half || decoded(s, "description") != "for the lab" {
		t.Error("the changed token is another one")
	}

	// A day later the token has expired, as intended.
	o.must(o.world.Clock().Sleep(t.Context(), 25*time.Hour))
	if !o.secretOf("bootstrap-token-" + made).IsNull() {
		t.Fatal("the token did not expire")
	}
	o.wantNothing()
	if n := len(o.result.Plan.Drift); n != 0 {
		t.Errorf("%d drifts; an expired token is none", n)
	}
	// A token without an expiry is missed.
	o.must(sim.Edit(o.world, cfg.Nodes[0].Address, "object Secret kube-system/bootstrap-token-ghijkl delete"))
	p, err := o.plan()
	o.must(err)
	if len(p.Steps) != 1 || len(p.Drift) != 1 {
		t.Errorf("a token without an expiry is gone, and the plan is:\n%s", describe(p))
	}
	// A token with changed settings is recreated.
	cfg.Clusters[0].BootstrapTokens[1].TTL = time.Hour
	o.must(o.apply())
	o.wantNothing()
	if o.secretOf("bootstrap-token-" + made).IsNull() {
		t.Error("the token with another lifetime was not made")
	}
	// The token of a removed block is deleted.
	cfg.Clusters[0].BootstrapTokens = nil
	o.must(o.apply())
	o.wantNothing()
	if !o.secretOf("bootstrap-token-abcdef").IsNull() {
		t.Error("the token of a removed block is still there")
	}
}

// TestBootstrapTokensKeepTheirIDs checks that tokens of blocks without a value, which have no names, stay in use
// when another block is removed, inserted before them, or changed.
func TestBootstrapTokensKeepTheirIDs(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 0)
	c := cfg.Clusters[0]
	day, week, lasting := token("", 24*time.Hour), token("", 7*24*time.Hour), token("", 0)
	c.BootstrapTokens = []config.BootstrapToken{day, week}
	o := newOperator(t, cfg)
	o.must(o.apply())
	o.wantNothing()
	// ids are the IDs of the present tokens, by their second half.
	ids := func() map[string]string {
		t.Helper()
		out := map[string]string{}
		for ref, object := range o.observe().ClusterReports["prod"].Objects {
			if id, ok := strings.CutPrefix(ref.Name, "bootstrap-token-"); ok {
				out[decoded(object, "token-secret")] = id
			}
		}
		return out
	}
	made := ids()
	stay := func(blocks []config.BootstrapToken, staying, all int) {
		t.Helper()
		before := ids()
		c.BootstrapTokens = blocks
		o.must(o.apply())
		o.wantNothing()
		after, same := ids(), 0
		for half, id := range after {
			if before[half] == id {
				same++
			}
		}
		if same != staying || len(after) != all {
			t.Errorf("of %v %d stay, want %d of %d: %v", before, same, staying, all, after)
		}
	}
	if len(made) != 2 {
		t.Fatalf("tokens %v, want two", made)
	}
	stay([]config.BootstrapToken{week}, 1, 1)
	stay([]config.BootstrapToken{lasting, week}, 1, 2)
	stay([]config.BootstrapToken{week, day, lasting}, 2, 3)
	week.Description = "for the lab"
	stay([]config.BootstrapToken{week, day, lasting}, 3, 3)
	stay([]config.BootstrapToken{token("abcdef."+tokenHalf, 0), lasting}, 1, 2)
}

// TestBootstrapTokenDriftHidesSecret checks that a changed token is shown, without its secret, and corrected.
func TestBootstrapTokenDriftHidesSecret(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 0)
	cfg.Clusters[0].BootstrapTokens = []config.BootstrapToken{token("abcdef."+tokenHalf, 0)}
	o := newOperator(t, cfg)
	o.must(o.apply())
	other := base64.StdEncoding.EncodeToString([]byte("fedcba9876543210"))
	o.must(sim.Edit(o.world, cfg.Nodes[0].Address, "object Secret kube-system/bootstrap-token-abcdef set data.token-secret="+other))
	p, err := o.plan()
	o.must(err)
	if text := describe(p); !strings.Contains(text, "secret: {\"$sensitive\"") || len(p.Steps) != 1 {
		t.Errorf("the plan is:\n%s", text)
	}
	o.wantClean(tokenHalf, "fedcba9876543210")
	o.must(o.carryOut())
	o.wantNothing()
	if got := decoded(o.secretOf("bootstrap-token-abcdef"), "token-secret"); got != tokenHalf {
		t.Error("the token was not corrected")
	}
}

// TestUploadCertsOnRequest checks that certificates are uploaded when the configuration begins to ask for it,
// and again for another key; that they expire is no drift.
func TestUploadCertsOnRequest(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cfg := cluster(1, 0)
	cfg.Clusters[0].UploadCerts = true
	o := newOperator(t, cfg)
	o.must(o.apply())
	o.wantNothing()
	s := o.secretOf("kubeadm-certs")
	want := "ca.crt ca.key etcd-ca.crt etcd-ca.key front-proxy-ca.crt front-proxy-ca.key sa.key sa.pub"
	if got := strings.Join(s.Get("data").Keys(), " "); got != want {
		t.Errorf("uploaded are %s, want %s", got, want)
	}
	for _, name := range s.Get("data").Keys() {
		if decoded(s, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if owner := s.Get("metadata.ownerReferences.0"); !strings.HasPrefix(owner.Get("name").AsString(), "bootstrap-token-") || !owner.Get("controller").AsBool() {
		t.Errorf("the owner is %v", owner.Go())
	}
	o.must(o.world.Clock().Sleep(t.Context(), 3*time.Hour))
	if !o.secretOf("kubeadm-certs").IsNull() {
		t.Fatal("the certificates did not expire")
	}
	o.wantNothing()

	cfg.Clusters[0].CertificateKey = state.NewSecret([]byte(key))
	p, err := o.plan()
	o.must(err)
	if len(p.Steps) != 1 || p.Steps[0].Phase != "upload-certs" {
		t.Errorf("another key is planned as:\n%s", describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
	o.wantClean(key)
	if o.secretOf("kubeadm-certs").IsNull() {
		t.Error("the certificates were not uploaded again")
	}
	cfg.Clusters[0].UploadCerts = false
	o.must(o.apply())
	o.wantNothing()
	if !o.secretOf("kubeadm-certs").IsNull() {
		t.Error("the certificates are still there")
	}
}

// TestBootstrapWithSecretsContinuesAfterCrash stops the operator at effects of the bootstrap of a cluster with secrets, tokens
// and uploaded certificates.
func TestBootstrapWithSecretsContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	cfg := cluster(2, 0)
	c := cfg.Clusters[0]
	c.UploadCerts = true
	c.BootstrapTokens = []config.BootstrapToken{token("abcdef."+tokenHalf, 0), token("", time.Hour)}
	c.APIServer.Args = append(c.APIServer.Args, config.Arg{Name: "oidc-client-id", Value: "canary"})
	c.Sensitive = map[string]bool{`api_server.arg["oidc-client-id"]`: true}
	cfg.Secrets = state.NewRedactor(cfg.SecretTexts())
	// Tokens and certificates are created at the end, where crashes begin.
	crashAnywhere(t, newOperator(t, cfg), 41, func(o *operator) { o.wantClean(tokenHalf, "canary") })
}
