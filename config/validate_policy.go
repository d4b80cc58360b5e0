package config

import (
	"path"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// policies checks the policy blocks.
func (c *Config) policies(out *diag.Diagnostics) {
	for _, p := range c.Policies {
		for _, pattern := range p.Protected {
			if !strings.HasPrefix(pattern, state.TypeCluster) && !strings.HasPrefix(pattern, state.TypeNode) && !strings.HasPrefix(pattern, "*") {
				out.Append(diag.Errorf("Invalid pattern", "%s is no pattern of an address. Write an address as on the command line, as in \"node.cp\", \"cluster.prod\" or \"node.worker[*]\", with * for any characters.", Quote(pattern)).At(p.Source))
			}
		}
		for _, f := range p.Freezes {
			if _, err := f.window(); err != nil {
				out.Append(diag.Errorf("Invalid freeze", "freeze %s of policy %s: %v.", Quote(f.Name), Quote(p.Name), err).At(f.Source))
			}
		}
		p.approval(out)
		if p.MaxDestroys < 0 {
			out.Append(diag.Errorf("Invalid policy", "max_destroys = %d: it is a number of clusters, nodes and addons, and 0 where none may be destroyed.", p.MaxDestroys).At(p.Source))
		}
		if !p.Unclear && p.MaxDestroys == NoLimit && len(p.Protected)+len(p.Freezes) == 0 && p.Approval == nil {
			out.Append(diag.Errorf("Policy without a rule", "policy %s forbids nothing: give it max_destroys, protected, a freeze block or an approval block.", Quote(p.Name)).At(p.Source))
		}
	}
}

func (p Policy) approval(out *diag.Diagnostics) {
	a := p.Approval
	if a == nil {
		return
	}
	clean := path.Clean(a.File)
	switch {
	case a.Approvers < 1:
		out.Append(diag.Errorf("Invalid approval", "approvers = %d: at least one approval is required.", a.Approvers).At(a.Source))
	case a.File == "" && a.Approvers > 1:
		out.Append(diag.Errorf("Invalid approval", "approvers = %d needs a file in which they write down what they approve: on the command line there is one person. Name it with file = \"approvals\".", a.Approvers).At(a.Source))
	case a.File == "" && len(a.Names) > 0:
		out.Append(diag.Errorf("Invalid approval", "names are those in a file of approvals, and there is none. Name it with file = \"approvals\".").At(a.Source))
	case len(a.Names) > 0 && len(a.Names) < a.Approvers:
		out.Append(diag.Errorf("Invalid approval", "%d have to approve, but names has only %d.", a.Approvers, len(a.Names)).At(a.Source))
	case a.File != "" && (path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../")):
		out.Append(diag.Errorf("Invalid approval", "file = %s leads out of the configuration folder. The approvals are kept beside the configuration.", Quote(a.File)).At(a.Source))
	}
}
