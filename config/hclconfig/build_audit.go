package hclconfig

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/kubewright/kubewright/config"
)

// addAudit adds to a cluster the file, folder and arguments that an audit block stands for.
func addAudit(e *evaluator, b *block, c *config.Cluster) {
	a := e.one(b, "audit")
	if !a.written {
		return
	}
	to := composer{e: e, c: c, block: "audit"}
	policy, at := auditPolicy(e, a)
	if policy == "" {
		return // reported
	}
	to.file(config.AuditPolicyPath, policy, c.Sensitive["audit.policy"], at)
	to.arg("audit-policy-file", config.AuditPolicyPath, at)
	log, hook := e.one(a, "log"), e.one(a, "webhook")
	if log.written || !hook.written {
		auditLog(to, a, log)
	}
	if hook.written {
		to.file(config.AuditWebhookPath, e.str(hook, "kubeconfig"), true, hook.at)
		to.arg("audit-webhook-config-file", config.AuditWebhookPath, hook.at)
		to.arg("audit-webhook-mode", e.str(hook, "mode"), hook.at)
	}
}

// auditPolicy returns the policy of an audit block, and where it is written.
func auditPolicy(e *evaluator, a *block) (string, hcl.Range) {
	const summary = "Invalid audit policy"
	level, policy := a.attrs["level"], a.attrs["policy"]
	switch {
	case level.set() == policy.set():
		e.errorAt(a.at, summary, "An audit block has either level, for all requests alike, or policy, with rules of your own. Write one of them, as in level = \"Metadata\".")
		return "", a.at
	case policy.set():
		return e.str(a, "policy"), policy.at
	}
	text := e.str(a, "level")
	if text != "" && !slices.Contains(config.AuditLevels, text) {
		e.errorAt(level.at, summary, "%q is no level of audit events. Levels are %s. To log nothing, leave the audit block out.", text, strings.Join(config.AuditLevels, ", "))
		return "", level.at
	}
	return config.AuditPolicy(text), level.at
}

// auditLog adds the arguments of the log, and the folder of its file where no block has it.
func auditLog(a composer, audit, log *block) {
	at := func(name string) hcl.Range {
		switch {
		case log.attrs[name].set():
			return log.attrs[name].at
		case log.written:
			return log.at
		}
		return audit.at
	}
	file := a.e.str(log, "path")
	if file != "-" && file != "" && !strings.HasPrefix(file, "/") {
		a.e.errorAt(at("path"), "Invalid audit log", "%q is no absolute path. Write the path of a file on the hosts, or - for the output of the container.", file)
		return
	}
	a.arg("audit-log-path", file, at("path"))
	for _, n := range []struct{ name, arg string }{{"max_age", "audit-log-maxage"}, {"max_backup", "audit-log-maxbackup"}, {"max_size", "audit-log-maxsize"}} {
		number := a.e.number(log, n.name)
		if number < 0 {
			a.e.errorAt(at(n.name), "Invalid audit log", "%s is %d. Write 0 or more.", n.name, number)
		}
		a.arg(n.arg, strconv.Itoa(number), at(n.name))
	}
	if file == "-" || file == "" {
		return
	}
	logFolder(a, path.Dir(file), at("path"))
}

// logFolder adds the folder of the log where no block has it.
func logFolder(a composer, folder string, at hcl.Range) {
	covered := slices.ContainsFunc(a.c.Directories, func(d config.Directory) bool { return d.Path == folder }) ||
		slices.ContainsFunc(a.c.APIServer.Volumes, func(v config.Volume) bool {
			return strings.HasPrefix(folder+"/", strings.TrimSuffix(v.MountPath, "/")+"/")
		})
	if covered {
		return
	}
	a.c.Directories = append(a.c.Directories, config.Directory{
		Path: folder, Mode: "0700", Owner: config.CompleteOwner(config.DefaultFileOwner),
		Roles: []string{string(config.ControlPlane)}, Source: a.source(at),
	})
}
