package hclconfig

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/config/hardening"
)

// addHardening gives a cluster the controls of a hardening block, after the blocks of audit and
// authentication and before those of admission and encryption.
func addHardening(e *evaluator, b *block, c *config.Cluster) {
	const summary = "Invalid hardening block"
	h := e.one(b, "hardening")
	if !h.written {
		return
	}
	out := &config.Hardening{Profile: e.str(h, "profile"), Named: e.strings(h, "controls"), Source: source(h.at)}
	if out.Profile != "" && !slices.Contains(hardening.Profiles, out.Profile) {
		e.errorAt(h.attrs["profile"].at, summary, "There is no profile %q. Write %q.", out.Profile, hardening.Profile)
	}
	if out.Profile == "" && len(out.Named) == 0 {
		e.errorAt(h.at, summary, "A hardening block has a profile, or names controls. Write profile = %q.", hardening.Profile)
	}
	for _, number := range out.Named {
		checkControl(e, number, h.attrs["controls"].at)
	}
	var excepted []string
	for _, x := range e.all(h, "except") {
		reason := strings.TrimSpace(e.str(x, "reason"))
		if x.attrs["reason"].set() && reason == "" {
			e.errorAt(x.attrs["reason"].at, summary, "An exception needs a reason, for those who check the cluster. Say why control %s is not to hold.", x.label)
		}
		checkControl(e, x.label, x.labelAt)
		if slices.Contains(out.Named, x.label) {
			e.errorAt(x.labelAt, summary, "Control %s is both in controls and an exception. Remove one of them.", x.label)
		}
		excepted = append(excepted, x.label)
		out.Exceptions = append(out.Exceptions, config.ControlException{Number: x.label, Reason: reason, Source: source(x.at)})
	}
	out.Enforced = hardening.Enforced(out.Profile, out.Named, excepted)
	c.Hardening = out
	hardening.Fill(c)
	at := hardened{composer{e: e, c: c, block: "hardening"}, h.at}
	at.audit()
	at.authentication()
	at.encryption(b)
}

// checkControl refuses the number of a control that does not exist.
func checkControl(e *evaluator, number string, at hcl.Range) {
	if hardening.Find(number) != nil {
		return
	}
	e.errorAt(at, "Unknown control", "%q is no control that a setting of a cluster decides.%s The reference lists them: docs/reference/hardening.md.", number, suggest(number, hardening.Numbers()))
}

// hardened adds to a cluster the blocks that controls stand for.
type hardened struct {
	composer
	at hcl.Range
}

// serving returns the composer of a value that serves controls; false if none of them is enforced.
func (h hardened) serving(numbers ...string) (composer, bool) {
	s := hardening.Source(h.c.Hardening, numbers...)
	to := h.composer
	to.control = s.Control
	return to, s.Control != ""
}

// has reports whether an argument of the API server is there.
func (h hardened) has(name string) bool {
	return slices.ContainsFunc(h.c.APIServer.Args, func(a config.Arg) bool { return strings.ReplaceAll(a.Name, "_", "-") == name })
}

// audit adds the audit policy, and the folder of the log where a control sets its path.
func (h hardened) audit() {
	if to, on := h.serving("3.2.1"); on && !h.has("audit-policy-file") {
		to.file(config.AuditPolicyPath, config.AuditPolicy(config.AuditLevels[0]), false, h.at)
		to.arg("audit-policy-file", config.AuditPolicyPath, h.at)
	}
	for _, a := range h.c.APIServer.Args {
		if a.Name == "audit-log-path" && a.Source.Control != "" {
			h.control = a.Source.Control
			logFolder(h.composer, path.Dir(a.Value), h.at)
			h.c.Origins["directory["+strconv.Quote(path.Dir(a.Value))+"]"] = a.Source
		}
	}
}

// authentication limits requests without credentials to health paths.
func (h hardened) authentication() {
	to, on := h.serving("1.2.1")
	given := slices.ContainsFunc(h.c.APIServer.Args, func(a config.Arg) bool { return strings.HasPrefix(a.Name, "oidc") })
	if !on || given || h.has("authentication-config") || h.has("anonymous-auth") {
		return
	}
	to.file(config.AuthenticationPath, authenticationConfiguration(h.e, config.ProbePaths, nil), false, h.at)
	to.arg("authentication-config", config.AuthenticationPath, h.at)
}

// encryption encrypts secrets where no block and no argument says how.
func (h hardened) encryption(b *block) {
	to, on := h.serving("1.2.27")
	if !on || h.has("encryption-provider-config") || h.e.one(b, "encryption").written {
		return
	}
	h.c.AtRest = &config.AtRest{Provider: atrest.Secretbox, Key: "1", Resources: []string{"secrets"}, Source: to.source(h.at)}
	to.arg("encryption-provider-config", atrest.Path, h.at)
	to.arg("encryption-provider-config-automatic-reload", "true", h.at)
	h.c.EncryptAtRest()
}
