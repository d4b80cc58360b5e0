package hardening

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// Text returns the value as an argument has it.
func (s Setting) Text() string { return flat(s.Value) }

// Text returns a value of the kubelet's configuration as an argument has it.
func Text(v state.Value) string { return flat(v) }

// flat returns a value of a field as an argument has it.
func flat(v state.Value) string {
	switch v.Kind() {
	case state.KindBool:
		return fmt.Sprint(v.AsBool())
	case state.KindList:
		var out []string
		for _, e := range v.AsList() {
			out = append(out, e.AsString())
		}
		return strings.Join(out, ",")
	}
	return v.AsString()
}

// blocks are what controls set besides arguments and fields, for the reference.
var blocks = map[string]string{
	AuditBlock:          "`audit { level = \"Metadata\" }`",
	EncryptionBlock:     "`encryption` of Secrets with `secretbox`, by a key named `1`",
	AuthenticationBlock: "`authentication { anonymous {} }`: `/livez`, `/readyz`, `/healthz`",
	PodSecurityBlock:    "`pod_security`: enforces `baseline`, audits and warns `restricted`, exempts kube-system",
	EventRateBlock:      "`plugin \"EventRateLimit\"`: 50 events a second for each namespace and user, 100 at once",
	ServingSetting:      "`certificates { kubelet_serving = true }`",
	UnitFiles:           "mode 0600 of kubelet.service and 10-kubeadm.conf",
	KubeletConfigFile:   "mode 0600 of `/var/lib/kubelet/config.yaml`",
	EtcdData:            "owner `etcd:etcd`, a system user, of the folder of a stacked etcd",
}

// Reference returns the page that lists the controls.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Controls of hardening\n\nWhat a [`hardening`](configuration.md) block of a cluster asks for, by the numbers of the CIS Kubernetes Benchmark 1.12, and of DISA's STIG\n" +
		"(`V-…`). A control gives a setting its value where the configuration says nothing. A setting that contradicts it is an\nerror, unless the control is an exception. Controls without a value hold by what kubeadm does: they are there for what\n" +
		"contradicts them. How to use it is in [Harden a cluster](../how-to/harden-a-cluster.md).\n\n| control | what is to hold | sets | allows |\n|---|---|---|---|\n")
	for _, c := range Controls {
		var sets, allows []string
		for _, s := range c.Settings {
			what, rule := s.describe()
			if what != "" {
				sets = append(sets, what)
			}
			if rule != "" {
				allows = append(allows, rule)
			}
		}
		title := c.Title
		if c.Optional {
			title += "; only where `controls` names it"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Number, title, strings.Join(sets, "; "), strings.Join(allows, "; "))
	}
	return b.String()
}

// describe returns what a setting sets, and which values the control allows.
func (s Setting) describe() (sets, allows string) {
	if text := blocks[s.Name]; text != "" && (s.In == Blocks || s.In == Files) {
		return text, ""
	}
	name := fmt.Sprintf("`%s` of `%s`", s.Name, s.In)
	if s.In == Sysctls {
		name = "`" + s.Name + "`"
	}
	if !s.Value.IsNull() {
		sets = name + " = `" + strings.ReplaceAll(s.Text(), ",", ", ") + "`"
	}
	if s.Must.Want != "" && s.In != Sysctls {
		allows = name + " has to " + s.Must.Want
	}
	return sets, allows
}
