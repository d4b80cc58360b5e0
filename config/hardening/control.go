package hardening

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Profile is the profile of the CIS Kubernetes Benchmark.
const Profile = "cis"

// Profiles are the profiles of a hardening block.
var Profiles = []string{Profile}

// Control is one recommendation of a benchmark.
type Control struct {
	// Number is that of the CIS Kubernetes Benchmark, or of DISA's STIG with V- before it.
	Number string
	// Title says in a few words what is to hold.
	Title string
	// Optional reports whether no profile contains the control: it is on only where it is named.
	Optional bool
	Settings []Setting
}

// Name returns the number with the benchmark.
func (c Control) Name() string {
	if strings.HasPrefix(c.Number, "V-") {
		return "STIG " + c.Number
	}
	return "CIS " + c.Number
}

// Setting is what a control asks of one setting of the configuration.
type Setting struct {
	// In is where the setting is.
	In Place
	// Name is the name of the argument, the path of the kubelet's field, or the kernel parameter.
	Name string
	// Flag is the argument by which the kubelet takes the field, too.
	Flag string
	// Value is filled in where the configuration says nothing; null where what kubeadm and the
	// components do by themselves is enough.
	Value state.Value
	// Must are the values that fulfil the control; any if it is zero.
	Must Rule
}

// Place is a block of the configuration, or what a block stands for.
type Place string

// The places of settings.
const (
	APIServer         Place = "api_server"
	ControllerManager Place = "controller_manager"
	Scheduler         Place = "scheduler"
	Etcd              Place = "etcd"
	Kubelet           Place = "kubelet"
	KubeProxy         Place = "kube_proxy"
	Sysctls           Place = "sysctls"
	// Blocks are whole blocks of the cluster, and settings of these: Name is the block.
	Blocks Place = "block"
	// Files are files of Kubernetes on the hosts: Name is which.
	Files Place = "file"
)

// Names of settings in Blocks and Files.
const (
	AuditBlock          = "audit"
	EncryptionBlock     = "encryption"
	AuthenticationBlock = "authentication"
	PodSecurityBlock    = "admission.pod_security"
	EventRateBlock      = "admission.plugin[\"EventRateLimit\"]"
	ServingSetting      = "certificates.kubelet_serving"
	UnitFiles           = "kubelet.service"
	KubeletConfigFile   = "config.yaml"
	EtcdData            = "etcd"
)

// Rule is which values a control allows.
type Rule struct {
	// Want completes the sentence "the setting has to …".
	Want string
	ok   func(value string) bool
	// list reports whether Value is a word of a list, which other controls may add words to.
	list bool
}

// Allows reports whether the value fulfils the control.
func (r Rule) Allows(value string) bool { return r.ok == nil || r.ok(value) }

// ofBool reports whether a text is a bool's.
func ofBool(text string, want bool) bool {
	b, err := strconv.ParseBool(text)
	return err == nil && b == want
}

var (
	isFalse = Rule{Want: "be false", ok: func(v string) bool { return ofBool(v, false) }}
	isTrue  = Rule{Want: "be true", ok: func(v string) bool { return ofBool(v, true) }}
	unset   = Rule{Want: "be left out", ok: func(v string) bool { return v == "" }}
)

func is(text string) Rule {
	return Rule{Want: "be " + strconv.Quote(text), ok: func(v string) bool { return v == text }}
}

func atLeast(least int) Rule {
	return Rule{Want: "be " + strconv.Itoa(least) + " or more", ok: func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= least
	}}
}

func words(v string) []string { return strings.Split(v, ",") }

func has(word string) Rule {
	return Rule{Want: "contain " + word, list: true, ok: func(v string) bool { return slices.Contains(words(v), word) }}
}

func lacks(word string) Rule {
	return Rule{Want: "not contain " + word, ok: func(v string) bool { return !slices.Contains(words(v), word) }}
}

// among allows lists of words of a set.
func among(what string, set []string) Rule {
	return Rule{Want: "contain only " + what, ok: func(v string) bool {
		return v != "" && !slices.ContainsFunc(words(v), func(w string) bool { return !slices.Contains(set, strings.TrimSpace(w)) })
	}}
}

// notZero refuses durations of zero, with which a timeout is off.
var notZero = Rule{Want: "not be 0", ok: func(v string) bool { return strings.Trim(v, "0hmsu.n") != "" }}

// Find returns the control with the number, or nil.
func Find(number string) *Control {
	for i := range Controls {
		if Controls[i].Number == number {
			return &Controls[i]
		}
	}
	return nil
}

// Numbers returns the numbers of all controls, in the order of the table.
func Numbers() []string {
	out := make([]string, len(Controls))
	for i, c := range Controls {
		out[i] = c.Number
	}
	return out
}

// Enforced returns the numbers of the controls of a profile and of those that are named besides,
// without the exceptions.
func Enforced(profile string, named, exceptions []string) []string {
	var out []string
	for _, c := range Controls {
		in := profile == Profile && !c.Optional || slices.Contains(named, c.Number)
		if in && !slices.Contains(exceptions, c.Number) {
			out = append(out, c.Number)
		}
	}
	return out
}
