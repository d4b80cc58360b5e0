package hardening

import (
	"cmp"
	"fmt"

	"github.com/kubewright/kubewright/config"
)

// Values returns the value of a setting of a component; false if the component does not have it. An
// argument is one of a component's arguments, a field one of the kubelet's configuration.
type Values func(name string) (string, bool)

// A Contradiction is a setting that a patch changes against an enforced control.
type Contradiction struct {
	// Setting is the argument or the field.
	Setting string
	// Text says which control that is, and what to do.
	Text string
}

// blockArgs are the arguments of API servers by which what blocks stand for takes effect.
var blockArgs = map[string]string{
	AuditBlock: "audit-policy-file", EncryptionBlock: "encryption-provider-config", AuthenticationBlock: "authentication-config",
	PodSecurityBlock: "admission-control-config-file", EventRateBlock: "admission-control-config-file", ServingSetting: "kubelet-certificate-authority",
}

// Patched returns how patches make a component contradict the enforced controls: of its settings those
// that differ with the patches.
func Patched(cl *config.Cluster, in Place, without, with Values) []Contradiction {
	var out []Contradiction
	for _, number := range cl.Hardening.Enforced {
		c := Find(number)
		for _, s := range c.Settings {
			name, want := s.Name, ""
			switch {
			case s.In == in && in == Kubelet:
				want = s.wantsOf(without, with)
				name = "the field " + s.Name + " of the kubelet's configuration"
			case s.In == in:
				want = s.wantsOf(without, with)
				name = fmt.Sprintf("the argument %s of %s", s.Name, in)
			case s.In == Blocks && in == APIServer:
				name, want = s.wantsOfBlock(without, with)
			}
			if want != "" {
				out = append(out, Contradiction{name, refusal(c, fmt.Sprintf("%s, which a patch changes, has to %s", name, want))})
			}
		}
	}
	return out
}

// wantsOf returns what a setting has to be and is not with the patches; empty if it fulfils the control,
// or the patches do not change it.
func (s Setting) wantsOf(without, with Values) string {
	before, was := without(s.Name)
	after, is := with(s.Name)
	switch {
	case was == is && before == after:
	case is && !s.Must.Allows(after):
		return s.Must.Want
	case !is && !holdsByDefault[s.Name] && (!s.Must.Allows("") || s.Must.ok == nil):
		return cmp.Or(s.Must.Want, "be set")
	}
	return ""
}

// holdsByDefault are the settings with which a component fulfils the control if a patch removes them:
// others then have a default that does not.
var holdsByDefault = map[string]bool{
	"auto-tls": true, "peer-auto-tls": true, "service-account-lookup": true, "terminated-pod-gc-threshold": true,
	"authentication.anonymous.enabled": true, "authorization.mode": true, "readOnlyPort": true,
	"streamingConnectionIdleTimeout": true, "makeIPTablesUtilChains": true,
}

// wantsOfBlock returns the argument by which a block takes effect, and what it has to be and is not with
// the patches.
func (s Setting) wantsOfBlock(without, with Values) (name, want string) {
	arg := blockArgs[s.Name]
	if s.Name == AuthenticationBlock {
		if after, is := with("anonymous-auth"); is && ofBool(after, true) {
			return "the argument anonymous-auth of " + string(APIServer), "be left out"
		}
	}
	before, was := without(arg)
	after, is := with(arg)
	switch {
	case arg == "" || !was || is && before == after:
		return "", ""
	case !is:
		want = "be set"
	default:
		want = fmt.Sprintf("be %q", before)
	}
	return fmt.Sprintf("the argument %s of %s", arg, APIServer), want
}
