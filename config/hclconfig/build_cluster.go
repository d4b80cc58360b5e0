package hclconfig

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/manifest"
	"github.com/kubewright/kubewright/state"
)

// build makes the model. An invalid value has its zero value or default there.
func (l *loader) build() *config.Config {
	c := &config.Config{Dir: l.options.Dir}
	for _, b := range l.clusters {
		cl := l.eval.cluster(b)
		cl.Certificates.SuppliedFiles = l.supplied(l.eval.one(b, "certificates"))
		cl.Files, cl.Directories = hostFiles(l, b, false, cl.Sensitive)
		addAudit(l.eval, b, cl)
		addAuthentication(l.eval, b, cl)
		addHardening(l.eval, b, cl)
		addAdmission(l.eval, b, cl)
		addAtRest(l.eval, b, cl)
		addBackup(l.eval, b, cl)
		c.Clusters = append(c.Clusters, cl)
	}
	slices.SortFunc(c.Clusters, func(a, b *config.Cluster) int { return cmp.Compare(a.Label, b.Label) })
	c.Nodes = l.buildNodes()
	c.DeriveVolumes()
	if l.defaults != nil {
		c.Connection = l.connection(l.defaults)
	}
	c.Incomplete = l.incomplete
	c.Outputs = l.buildOutputs()
	if slices.ContainsFunc(c.Outputs, func(o *config.Output) bool { return o.Value.IsPending() }) {
		c.Applied = l.applied
	}
	sortChanges(l.moved)
	sortChanges(l.removed)
	sortChanges(l.imported)
	c.Moves, c.Removals, c.Imports = l.moves(), l.removals(), l.imports()
	c.Policies, c.Encryption = l.policies(), l.eval.encryption(l.settings)
	l.checks()
	l.evaluateUnused()
	return c
}

// evaluateUnused finds mistakes in unused locals.
func (l *loader) evaluateUnused() {
	// Sorted, so that a cycle is always shown from the same end.
	for _, name := range slices.Sorted(maps.Keys(l.eval.locals)) {
		l.eval.force(l.eval.locals[name])
	}
}

// cluster builds a cluster.
func (e *evaluator) cluster(b *block) *config.Cluster {
	c := &config.Cluster{
		Label: b.label, Source: source(b.at), Origins: config.Origins{}, Sensitive: map[string]bool{},
		Name: e.str(b, "cluster_name"), KubernetesVersion: e.str(b, "kubernetes_version"),
		ControlPlaneEndpoint: e.str(b, "control_plane_endpoint"), BindPort: e.number(b, "bind_port"),
		ImageRepository: e.str(b, "image_repository"), FeatureGates: e.boolMap(b, "feature_gates"),
		UploadCerts: e.boolean(b, "upload_certs"), CertificateKey: e.secret(b, "certificate_key"), ProxyEnv: e.stringMap(b, "proxy_env"),
		IgnorePreflightErrors: e.strings(b, "ignore_preflight_errors"), SkipPhases: e.strings(b, "skip_phases"),
		KernelModules: e.strings(b, "kernel_modules"), Sysctls: e.stringMap(b, "sysctls"), Units: units(e, b, false),
		ImagePullPolicy: e.str(b, "image_pull_policy"), ImagePullSerial: e.boolean(b, "image_pull_serial"),
		OnUnreachable: e.str(b, "on_unreachable"),
	}
	c.ControlPlaneEndpoint = config.CompleteEndpoint(c.ControlPlaneEndpoint, c.BindPort)
	n := e.one(b, "network")
	c.Network = config.Network{PodSubnet: e.str(n, "pod_subnet"), ServiceSubnet: e.str(n, "service_subnet"), DNSDomain: e.str(n, "dns_domain")}
	api := e.one(b, "api_server")
	c.APIServer = config.APIServer{Component: e.component(api), CertSANs: e.strings(api, "cert_sans")}
	c.ControllerManager = e.component(e.one(b, "controller_manager"))
	c.Scheduler = e.component(e.one(b, "scheduler"))
	c.Etcd = e.etcd(e.one(b, "etcd"))
	d := e.one(b, "dns")
	c.DNS = config.DNS{ImageRepository: e.str(d, "image_repository"), ImageTag: e.str(d, "image_tag"), Disabled: !e.boolean(d, "enabled")}
	p := e.one(b, "kube_proxy")
	c.KubeProxy = config.KubeProxy{Disabled: !e.boolean(p, "enabled"), Config: e.tree(p, "config")}
	c.Kubelet = e.kubelet(e.one(b, "kubelet"))
	c.Certificates = e.certificates(e.one(b, "certificates"))
	c.Patches = e.patches(b)
	e.operations(b, c)
	for _, a := range e.all(b, "addon") {
		c.Addons = append(c.Addons, e.addon(a))
	}
	c.Lifecycle = e.lifecycle(b, state.ClusterTarget(c.Label))
	e.origins(b, c.Origins)
	e.sensitivePaths(b, c.Sensitive)
	return c
}

// operations builds the settings that say how work is done.
func (e *evaluator) operations(b *block, c *config.Cluster) {
	u := e.one(b, "upgrade")
	d := e.one(u, "drain")
	c.Upgrade = config.Upgrade{Pace: e.pace(u, config.Pace{}), Pools: e.pools(u), AllowDowntime: e.boolean(u, "allow_downtime"), Drain: config.DrainOptions{
		Timeout: e.duration(d, "timeout"), GracePeriod: e.number(d, "grace_period"), Force: e.boolean(d, "force"),
		DeleteEmptyDirData: e.boolean(d, "delete_emptydir_data"), DisableEviction: e.boolean(d, "disable_eviction"),
		PodSelector: e.str(d, "pod_selector"), SkipWait: e.duration(d, "skip_wait_for_delete_timeout"), StayCordoned: e.boolean(d, "stay_cordoned"),
	}}
	i := e.one(b, "install")
	c.Install = config.Install{Artifacts: e.str(i, "artifacts"), Keep: e.strings(i, "keep")}
	if p := e.one(i, "packages"); p.written {
		c.Install.Packages = &config.Packages{
			Repository: e.str(p, "repository"), Key: e.str(p, "key"), Runtime: e.str(p, "runtime"), Tools: e.strings(p, "tools"), Hold: e.boolean(p, "hold"),
		}
	}
	t := e.one(b, "timeouts")
	c.Timeouts = config.Timeouts{
		ControlPlaneComponentHealthCheck: e.duration(t, "control_plane_component_health_check"),
		KubeletHealthCheck:               e.duration(t, "kubelet_health_check"),
		KubernetesAPICall:                e.duration(t, "kubernetes_api_call"),
		EtcdAPICall:                      e.duration(t, "etcd_api_call"),
		TLSBootstrap:                     e.duration(t, "tls_bootstrap"),
		Discovery:                        e.duration(t, "discovery"),
		UpgradeManifests:                 e.duration(t, "upgrade_manifests"),
	}
	r := e.one(b, "reset")
	c.Reset = config.Reset{CleanupTmpDir: e.boolean(r, "cleanup_tmp_dir"), UnmountFlags: e.strings(r, "unmount_flags")}
	for _, k := range e.all(b, "bootstrap_token") {
		c.BootstrapTokens = append(c.BootstrapTokens, e.bootstrapToken(k))
	}
}

// pools returns the pools of an upgrade block, in order.
func (e *evaluator) pools(u *block) []config.Pool {
	var out []config.Pool
	for _, p := range e.all(u, "pool") {
		out = append(out, config.Pool{Name: p.label, Selector: e.str(p, "selector"), Pace: e.pace(p, e.pace(u, config.Pace{})), Source: source(p.at)})
	}
	return out
}

// pace returns the pace of a block; around has the values that it inherits.
func (e *evaluator) pace(b *block, around config.Pace) config.Pace {
	if around == (config.Pace{}) || b.attrs["max_unavailable"].set() {
		around.MaxUnavailable = e.str(b, "max_unavailable")
	}
	if around.Canary == 0 || b.attrs["canary"].set() {
		around.Canary = e.number(b, "canary")
	}
	if b.attrs["pause"].set() {
		around.Pause = e.duration(b, "pause")
	}
	return around
}

func (e *evaluator) component(b *block) config.Component {
	c := config.Component{Args: e.args(b), Envs: e.envs(b)}
	for _, v := range e.all(b, "extra_volume") {
		c.Volumes = append(c.Volumes, config.Volume{
			Name: v.label, HostPath: e.str(v, "host_path"), MountPath: e.str(v, "mount_path"),
			ReadOnly: e.boolean(v, "read_only"), PathType: e.str(v, "path_type"), Source: source(v.at),
		})
	}
	return c
}

// args returns the arguments in their order. The position of an argument is its value's; a
// missing value is already reported.
func (e *evaluator) args(b *block) []config.Arg {
	var out []config.Arg
	for _, a := range e.all(b, "arg") {
		if v := a.attrs["value"]; v.set() {
			out = append(out, config.Arg{Name: a.label, Value: e.str(a, "value"), Source: source(v.at)})
		}
	}
	return out
}

func (e *evaluator) envs(b *block) []config.EnvVar {
	var out []config.EnvVar
	for _, v := range e.all(b, "extra_env") {
		out = append(out, config.EnvVar{Name: v.label, Value: e.str(v, "value"), ValueFrom: e.tree(v, "value_from"), Source: source(v.at)})
	}
	return out
}

func (e *evaluator) etcd(b *block) config.Etcd {
	out := config.Etcd{
		ImageRepository: e.str(b, "image_repository"), ImageTag: e.str(b, "image_tag"), DataDir: e.str(b, "data_dir"),
		Args: e.args(b), Envs: e.envs(b), ServerCertSANs: e.strings(b, "server_cert_sans"), PeerCertSANs: e.strings(b, "peer_cert_sans"),
	}
	x := e.one(b, "external")
	if !x.written {
		return out
	}
	out.External = &config.ExternalEtcd{
		Endpoints: e.strings(x, "endpoints"), HTTPEndpoints: e.strings(x, "http_endpoints"),
		CAFile: e.str(x, "ca_file"), CertFile: e.str(x, "cert_file"), KeyFile: e.str(x, "key_file"),
		CAContent: e.str(x, "ca"), CertContent: e.str(x, "cert"), KeyContent: e.secret(x, "key"),
	}
	if !x.attrs["http_endpoints"].set() {
		out.External.HTTPEndpoints = out.External.Endpoints
	}
	return out
}

func (e *evaluator) kubelet(b *block) config.Kubelet {
	return config.Kubelet{Config: e.tree(b, "config"), Args: e.args(b)}
}

func (e *evaluator) certificates(b *block) config.Certificates {
	c := config.Certificates{
		Dir: e.str(b, "dir"), Algorithm: e.str(b, "algorithm"),
		Validity: e.duration(b, "validity"), CAValidity: e.duration(b, "ca_validity"), RenewBefore: e.duration(b, "renew_before"),
		CA: e.givenCA(e.one(b, "ca")), FrontProxyCA: e.givenCA(e.one(b, "front_proxy_ca")), EtcdCA: e.givenCA(e.one(b, "etcd_ca")),
		KubeletServing: e.boolean(b, "kubelet_serving"), Supplied: e.str(b, "supplied"),
	}
	if !b.attrs["renew_before"].set() {
		c.RenewBefore = config.RenewBefore(c.Validity)
	}
	return c
}

// supplied reads the files of the folder certificates.supplied. Whether a node has the files
// that it needs is checked once the node is known.
func (l *loader) supplied(b *block) map[string]state.Secret {
	dir := l.eval.str(b, "supplied")
	if dir == "" {
		return nil
	}
	clean, err := localPath(dir)
	var files map[string][]byte
	if err == nil {
		files, err = l.files.below(clean, ".crt", ".key", ".conf")
	}
	if err != nil {
		l.eval.errorAt(b.attrs["supplied"].at, "Cannot read the supplied certificates", "The folder %q cannot be read: %s.", dir, err)
		return nil
	}
	out := map[string]state.Secret{}
	for name, content := range files {
		out[name] = state.NewSecret(content)
	}
	return out
}

func (e *evaluator) givenCA(b *block) config.GivenCA {
	if !b.written {
		return config.GivenCA{}
	}
	return config.GivenCA{Certificate: e.str(b, "certificate"), Key: e.secret(b, "key"), OnHosts: e.boolean(b, "on_hosts")}
}

func (e *evaluator) patches(b *block) []config.Patch {
	var out []config.Patch
	for _, p := range e.all(b, "patch") {
		out = append(out, config.Patch{Target: e.str(p, "target"), Type: e.str(p, "type"), Content: e.str(p, "content"), Source: source(p.at)})
	}
	return out
}

func (e *evaluator) bootstrapToken(b *block) config.BootstrapToken {
	t := config.BootstrapToken{
		Token: e.secret(b, "token"), Description: e.str(b, "description"), TTL: e.duration(b, "ttl"), Expires: e.str(b, "expires"),
		Usages: e.strings(b, "usages"), Groups: e.strings(b, "groups"), Source: source(b.at),
	}
	if !b.attrs["ttl"].set() && t.Expires == "" {
		t.TTL = config.DefaultTokenTTL
	}
	if !b.attrs["groups"].set() && !slices.Contains(t.Usages, "authentication") {
		t.Groups = nil
	}
	return t
}

// addon builds an addon. It parses its objects, so that a mistake in the YAML is shown where
// the manifest is named.
func (e *evaluator) addon(b *block) *config.Addon {
	a := &config.Addon{Name: b.label, Source: source(b.at)}
	secret := e.sensitiveElements(b.attrs["manifest"])
	for i, text := range e.strings(b, "manifest") {
		objects, err := manifest.Parse(text)
		if err != nil {
			e.errorAt(b.attrs["manifest"].at, "Invalid manifest", "The manifest of addon %q cannot be used: %s.", b.label, err)
			return a
		}
		for _, o := range objects {
			a.Objects = append(a.Objects, config.AddonObject{Value: o.Value, Omits: o.Omits, Sensitive: secret(i)})
		}
	}
	return a
}

// sensitiveElements returns a function that reports which elements of a list are sensitive.
func (e *evaluator) sensitiveElements(t *thunk) func(i int) bool {
	v, marks := e.force(t).Unmark()
	if marks.Has(sensitive) || !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return func(int) bool { return marks.Has(sensitive) }
	}
	var out []bool
	for it := v.ElementIterator(); it.Next(); {
		_, element := it.Element()
		_, marks := element.UnmarkDeep()
		out = append(out, marks.Has(sensitive))
	}
	return func(i int) bool { return i < len(out) && out[i] }
}

// buildOutputs returns the outputs, in the order of their names.
func (l *loader) buildOutputs() []*config.Output {
	var out []*config.Output
	for _, t := range l.outputs {
		out = append(out, l.eval.output(t))
	}
	slices.SortFunc(out, func(a, b *config.Output) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// applied returns the outputs with what has become known; nil if they cannot be evaluated with
// that.
func (l *loader) applied(known config.Known) []*config.Output {
	if l.pending == nil {
		l.pending = l.eval.pending(l.nodes)
	}
	for _, t := range l.pending {
		t.status = waiting
	}
	l.eval.known, l.eval.diags = known, nil
	out := l.buildOutputs()
	if l.eval.diags.HasErrors() {
		return nil
	}
	return out
}

// pending returns the node names, the computed attributes of clusters and the locals that only an
// apply can know.
func (e *evaluator) pending(sets []*nodeSet) []*thunk {
	all := slices.Collect(maps.Values(e.locals))
	for _, set := range sets {
		for _, n := range set.nodes {
			all = append(all, n.block.attrs["name"])
		}
	}
	for _, c := range e.clusters {
		all = append(all, c.attrs["server"], c.attrs["ca_certificate"])
	}
	return slices.DeleteFunc(all, func(t *thunk) bool {
		if t.status != done {
			return true
		}
		_, marks := t.value.UnmarkDeep()
		return !hasPending(marks)
	})
}

// output builds an output.
func (e *evaluator) output(t *template) *config.Output {
	b := bind(t, "output."+t.label, "", nil)
	o := &config.Output{Name: t.label, Description: e.str(b, "description"), Sensitive: e.boolean(b, "sensitive"), Source: source(b.at)}
	v, marks := e.force(b.attrs["value"]).UnmarkDeep()
	switch {
	case failed(marks):
	case marks.Has(sensitive) && !o.Sensitive:
		e.errorAt(b.attrs["value"].at, "Output refers to sensitive values", "The value is made of something sensitive and would be printed after every apply. Add sensitive = true if that is intended.")
	case !v.IsWhollyKnown():
		o.Value = pendingValue(marks)
	default:
		o.Value = toState(v)
	}
	return o
}

// pendingValue stands for a value that only an apply can know: the first of its unknown inputs,
// by name.
func pendingValue(marks map[any]struct{}) state.Value {
	var best *pendingMark
	for m := range marks {
		if p, ok := m.(pendingMark); ok && (best == nil || p.target.String() < best.target.String()) {
			best = &p
		}
	}
	if best == nil {
		return state.Null()
	}
	return state.PendingValue(best.target.String(), best.name)
}
