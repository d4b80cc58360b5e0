package componentflag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Conflict is a flag that a component does not take beside the others, or without another one.
type Conflict struct {
	Flag, Why string
}

// Text returns why as a sentence; shown is how the value is shown, which is not quoted if it must not be.
func (x Conflict) Text(shown string) string {
	if !strings.HasPrefix(shown, `"`) {
		return "The component does not take this value, which is not shown here, and would not start."
	}
	if word, _, _ := strings.Cut(x.Why, " "); word != strings.ToLower(word) || strings.ContainsAny(word, "-._") {
		return x.Why // begins with the name of a field or of a component
	}
	return strings.ToUpper(x.Why[:1]) + x.Why[1:]
}

// together are the flags of a component and their values; the last of a name counts.
type together struct {
	component string
	minor     int // of Kubernetes; 0 if it is not known
	values    map[string]string
	out       []Conflict
}

// Together returns the conflicts among a component's flags, names and values in their order, on top of
// those that kubeadm writes.
func Together(component string, flags [][2]string, minor int) []Conflict {
	t := &together{component: component, minor: minor, values: map[string]string{}}
	for _, f := range flags {
		name := FlagName(component, f[0])
		if name == "feature-gates" && t.values[name] != "" {
			f[1] = t.values[name] + "," + f[1] // given again, it adds
		}
		t.values[name] = f[1]
	}
	for _, p := range pairs {
		if slices.Contains(strings.Fields(p.components), component) {
			t.pair(p)
		}
	}
	if component == "etcd" {
		t.etcd()
		return t.out
	}
	t.logging()
	switch component {
	case "kube-apiserver":
		t.oidc()
		t.authorization()
		t.server()
		t.peers()
	case "kube-controller-manager":
		t.signing()
	}
	if component != "kubelet" { // whose gates are checked with those of its configuration
		t.gates()
		t.versions()
		t.suites()
		return t.out
	}
	if on, _ := strconv.ParseBool(t.values["exit-on-lock-contention"]); on && t.values["lock-file"] == "" {
		t.refuse("exit-on-lock-contention", "The kubelet takes --exit-on-lock-contention only with --lock-file, and would not start. Write both, or none.")
	}
	if on, _ := strconv.ParseBool(t.values["rotate-server-certificates"]); on && !t.isOn("RotateKubeletServerCertificate") {
		t.refuse("rotate-server-certificates", "The kubelet takes --rotate-server-certificates only with the feature gate RotateKubeletServerCertificate, which is off, and would not start. Turn it on, or remove the flag.")
	}
	return t.out
}

func (t *together) refuse(flag, format string, args ...any) {
	t.out = append(t.out, Conflict{flag, fmt.Sprintf(format, args...)})
}

// A pair is two flags of which each needs the other one.
type pair struct {
	components, a, b string
	// written reports whether kubeadm writes both.
	written bool
}

var pairs = []pair{
	{components: "kube-apiserver", a: "oidc-issuer-url", b: "oidc-client-id"},
	{components: "kube-controller-manager kube-scheduler", a: "tls-cert-file", b: "tls-private-key-file"},
	{components: "kube-apiserver", a: "tls-cert-file", b: "tls-private-key-file", written: true},
	{components: "kube-apiserver", a: "etcd-certfile", b: "etcd-keyfile", written: true},
	{components: "etcd", a: "cert-file", b: "key-file", written: true},
	{components: "etcd", a: "client-cert-file", b: "client-key-file"},
	{components: "etcd", a: "peer-client-cert-file", b: "peer-client-key-file"},
	{components: "etcd", a: "peer-cert-file", b: "peer-key-file", written: true},
	{components: "kubelet", a: "image-credential-provider-config", b: "image-credential-provider-bin-dir"},
}

// pair refuses one of two flags without the other.
func (t *together) pair(p pair) {
	has := func(flag string) bool {
		v, given := t.values[flag]
		return v != "" || !given && p.written
	}
	a, b := has(p.a), has(p.b)
	if a == b {
		return
	}
	flag, other := p.a, p.b
	if b {
		flag, other = p.b, p.a
	}
	at := flag
	if _, given := t.values[flag]; !given { // kubeadm writes it, and the other one was emptied
		at = other
	}
	t.refuse(at, "%s takes --%s only with --%s, and would not start. Write both, or none.", t.component, flag, other)
}

// oidc refuses options of OIDC without an issuer (k8s.io/apiserver/pkg/authentication).
func (t *together) oidc() {
	for flag := range t.values {
		_, issuer := t.values["oidc-issuer-url"]
		_, client := t.values["oidc-client-id"]
		if strings.HasPrefix(flag, "oidc-") && !(issuer && client) && (flag != "oidc-issuer-url" && flag != "oidc-client-id" || t.values[flag] == "") {
			t.refuse(flag, "The API server takes --%s only with --oidc-issuer-url and --oidc-client-id, and would not start. Write them, or authentication { jwt { … } } instead.", flag)
		}
	}
	slices.SortFunc(t.out, func(a, b Conflict) int { return strings.Compare(a.Flag, b.Flag) })
}

// authorization refuses modes without their file, and files without their mode.
func (t *together) authorization() {
	value, given := t.values["authorization-mode"]
	modes := strings.Split(value, ",")
	if !given {
		modes = []string{"Node", "RBAC"}
	}
	if t.values["authorization-config"] != "" { // it takes the place of modes
		if given && value != "" {
			t.refuse("authorization-config", "The API server takes either --authorization-config or --authorization-mode, and would not start. Take one of them out.")
		}
		return
	}
	for i, m := range modes {
		if slices.Contains(modes[:i], m) {
			t.refuse("authorization-mode", "The mode %s is listed twice, and the API server would not start. Take one of the two out.", m)
		}
	}
	for mode, flag := range map[string]string{"ABAC": "authorization-policy-file", "Webhook": "authorization-webhook-config-file"} {
		switch on, file := slices.Contains(modes, mode), t.values[flag] != ""; {
		case on && !file:
			t.refuse("authorization-mode", "The mode %s needs --%s, and the API server would not start. Add it.", mode, flag)
		case !on && file:
			t.refuse(flag, "--%s is for the mode %s, which is not in authorization-mode, and the API server would not start. Add the mode, or take it out.", flag, mode)
		}
	}
}

// server refuses other options of the API server that contradict each other.
func (t *together) server() {
	disabled, _ := SplitList(t.values["disable-admission-plugins"]) // what cannot be split is reported by its type
	enabled, _ := SplitList(t.values["enable-admission-plugins"])
	for _, name := range enabled {
		if slices.Contains(disabled, name) {
			t.refuse("enable-admission-plugins", "%s is enabled and disabled, and the API server would not start. Take one of the two out.", name)
		}
	}
	for _, name := range []string{"EventRateLimit", "ImagePolicyWebhook"} {
		if slices.Contains(enabled, name) && t.values["admission-control-config-file"] == "" {
			t.refuse("enable-admission-plugins", "%s needs its configuration in --admission-control-config-file, and the API server would not start. Add it, or take %s out.", name, name)
		}
	}
	if on, _ := strconv.ParseBool(t.values["encryption-provider-config-automatic-reload"]); on && t.values["encryption-provider-config"] == "" {
		t.refuse("encryption-provider-config-automatic-reload", "The API server takes --encryption-provider-config-automatic-reload only with --encryption-provider-config, and would not start. Write both, or none.")
	}
	if t.number("max-requests-inflight", 400) == 0 && t.number("max-mutating-requests-inflight", 200) == 0 {
		t.refuse("max-requests-inflight", "max-requests-inflight and max-mutating-requests-inflight are both 0: the API server would serve no request, and would not start.")
	}
	if port, from := t.number("kubernetes-service-node-port", 0), t.values["service-node-port-range"]; from == "" && port > 0 && port <= 65535 && (port < 30000 || port > 32767) {
		t.refuse("kubernetes-service-node-port", "%v is not in service-node-port-range, 30000-32767 by default, and the API server would not start.", port)
	}
	const prefix = "coordinated-leadership-"
	lease, renew, retry := t.number(prefix+"lease-duration", 15), t.number(prefix+"renew-deadline", 10), t.number(prefix+"retry-period", 2)
	if lease <= 0 || renew <= 0 || retry <= 0 || lease <= renew || renew <= 1.2*retry {
		for _, name := range []string{"lease-duration", "renew-deadline", "retry-period"} {
			if _, given := t.values[prefix+name]; given {
				t.refuse(prefix+name, "coordinated-leadership-lease-duration must be more than -renew-deadline, and that more than 1.2 times -retry-period; the API server would not start.")
				return
			}
		}
	}
}

// peers refuses options for requests to other API servers without the gate (pkg/controlplane/apiserver/options).
func (t *together) peers() {
	const gate = "UnknownVersionInteroperabilityProxy"
	if t.isOn(gate) {
		return
	}
	for _, flag := range []string{"peer-ca-file", "peer-advertise-ip", "peer-advertise-port"} {
		if t.values[flag] != "" {
			t.refuse(flag, "The API server takes --%s only with the feature gate %s, which is off, and would not start. Take it out.", flag, gate)
		}
	}
}

// number returns the value of a flag, or what it is otherwise.
func (t *together) number(flag string, otherwise float64) float64 {
	if n, ok := amount(t.values[flag]); ok {
		return n
	}
	return otherwise
}

// signing refuses files for single signers beside those for all, which kubeadm writes.
func (t *together) signing() {
	cert, given := t.values["cluster-signing-cert-file"]
	key, givenKey := t.values["cluster-signing-key-file"]
	for _, signer := range []string{"kube-apiserver-client", "kubelet-client", "kubelet-serving", "legacy-unknown"} {
		for _, file := range []string{"cert", "key"} {
			flag := "cluster-signing-" + signer + "-" + file + "-file"
			if t.values[flag] != "" && (!given || cert != "" || !givenKey || key != "") {
				t.refuse(flag, "The controller manager takes --%s only without --cluster-signing-cert-file and --cluster-signing-key-file, which are set, and would not start. Take it out, or set those to \"\".", flag)
			}
		}
	}
}

// isOn reports whether a feature gate is on, as far as the version and the flag feature-gates say.
func (t *together) isOn(gate string) bool {
	return t.minor == 0 || isOn(needsOf(t.minor), GatesOf(t.values["feature-gates"]), gate)
}

// versions refuses a version to be compatible with that is above the emulated one (k8s.io/component-base/compatibility).
func (t *together) versions() {
	of := func(flag string) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(t.values[flag], "kube="), "1.")) // another text is none
		return n
	}
	if least, emulated := of("min-compatibility-version"), of("emulated-version"); emulated > 0 && least > emulated {
		t.refuse("min-compatibility-version", "min-compatibility-version (1.%d) is above emulated-version (1.%d); %s would not start.", least, emulated, t.component)
	}
}

// gates refuses feature gates without those that they need.
func (t *together) gates() {
	if t.values["emulated-version"] != "" {
		return // gates are those of that version
	}
	for _, x := range UnmetNeeds(t.component, GatesOf(t.values["feature-gates"]), t.minor) {
		t.refuse("feature-gates", "%s", x.Text(`""`))
	}
}

// logging refuses options that are alpha, and logs in JSON, without their gate (k8s.io/component-base/logs/api/v1:
// Validate).
func (t *together) logging() {
	if t.values["logging-format"] == "json" && !t.isOn("LoggingBetaOptions") {
		t.refuse("logging-format", "%s writes JSON only with the feature gate LoggingBetaOptions, which is off, and would not start. Turn it on, or write text.", t.component)
	}
	for _, flag := range []string{"log-json-info-buffer-size", "log-text-info-buffer-size", "log-json-split-stream", "log-text-split-stream"} {
		v, given := t.values[flag]
		off, err := strconv.ParseBool(v)
		if given && v != "" && v != "0" && (err != nil || off) && !t.isOn("LoggingAlphaOptions") {
			t.refuse(flag, "%s takes --%s only with the feature gate LoggingAlphaOptions, and would not start. Take it out.", t.component, flag)
		}
	}
}

// suites refuses cipher suites without those that HTTP/2 needs below TLS 1.3 (golang.org/x/net/http2:
// ConfigureServer).
func (t *together) suites() {
	names, _ := SplitList(t.values["tls-cipher-suites"]) // what cannot be split is reported by its type
	off, _ := strconv.ParseBool(t.values["disable-http2-serving"])
	if len(names) == 0 || slices.ContainsFunc(names, isUnknownSuite) || off || t.values["tls-min-version"] == "VersionTLS13" {
		return
	}
	if !slices.ContainsFunc(names, isHTTP2Suite) {
		t.refuse("tls-cipher-suites", "%s serves HTTP/2, which needs %s or %s, and would not start. Add one of them.", t.component, http2Suites[0], http2Suites[1])
	}
}

// etcd refuses what etcd checks at its start (server/embed/config.go).
func (t *together) etcd() {
	isOn := func(flag string) bool {
		on, _ := strconv.ParseBool(t.values[flag]) // another text is reported by its type
		return on
	}
	if t.values["tls-min-version"] == "TLS1.3" && t.values["tls-max-version"] == "TLS1.2" {
		t.refuse("tls-min-version", "tls-min-version (TLS1.3) is above tls-max-version (TLS1.2); etcd would not start.")
	}
	if t.values["tls-min-version"] == "TLS1.3" && t.values["cipher-suites"] != "" {
		t.refuse("cipher-suites", "With TLS 1.3 alone the cipher suites cannot be chosen, and etcd would not start. Remove cipher-suites, or set tls-min-version to TLS1.2.")
	}
	suites := strings.Split(t.values["cipher-suites"], ",")
	if t.values["cipher-suites"] != "" && !slices.ContainsFunc(suites, isUnknownSuite) && !slices.ContainsFunc(suites, isHTTP2Suite) {
		t.refuse("cipher-suites", "etcd serves HTTP/2, which needs %s or %s, and would not start. Add one of them.", http2Suites[0], http2Suites[1])
	}
	outputs := strings.Split(t.values["log-outputs"], ",")
	if isOn("enable-log-rotation") && !slices.ContainsFunc(outputs, func(o string) bool {
		return o != "" && !slices.Contains([]string{"default", "stdout", "stderr", "systemd/journal"}, o)
	}) {
		t.refuse("enable-log-rotation", "etcd rotates a file, and log-outputs names none, so that etcd would not start. Add a file to log-outputs, or take it out.")
	}
	if gates := GatesOf(t.values["feature-gates"]); gates["LeaseCheckpointPersist"] && !gates["LeaseCheckpoint"] && !gates["AllAlpha"] {
		t.refuse("feature-gates", "The feature gate LeaseCheckpointPersist needs LeaseCheckpoint, and etcd would not start. Add it.")
	}
	if t.values["peer-cert-allowed-cn"] != "" && t.values["peer-cert-allowed-hostname"] != "" {
		t.refuse("peer-cert-allowed-cn", "etcd takes either peer-cert-allowed-cn or peer-cert-allowed-hostname, and would not start. Take one of them out.")
	}
	for _, x := range []struct{ flag, needs string }{{"experimental-enable-lease-checkpoint-persist", "experimental-enable-lease-checkpoint"}} {
		if isOn(x.flag) && !isOn(x.needs) {
			t.refuse(x.flag, "etcd takes --%s only with --%s, and would not start. Write both, or none.", x.flag, x.needs)
		}
	}
	for _, prefix := range []string{"", "experimental-"} {
		rate := prefix + "distributed-tracing-sampling-rate"
		if n, ok := amount(t.values[rate]); ok && isOn(prefix+"enable-distributed-tracing") && (n < 0 || n > 1000000) {
			t.refuse(rate, "--%s is from 0 to 1000000; etcd would not start.", rate)
		}
	}
}
