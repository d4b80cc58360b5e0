package planner

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// Action is what becomes of an item or a resource.
type Action string

// The actions.
const (
	NoOp    Action = "no-op"
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
	// Forget drops an item from the state without touching it.
	Forget Action = "forget"
)

// Reasons of a change.
const (
	ReasonNew          = "not there yet"
	ReasonConfigured   = "configuration changed"
	ReasonDrift        = "changed outside of kubewright"
	ReasonUnconfigured = "no longer in the configuration"
	ReasonRequested    = "as requested"
	ReasonIncomplete   = "an earlier apply did not finish"
	ReasonDue          = "renewal due"
)

// Cost is what a change costs of what runs.
type Cost string

// The costs, cheapest first. The schema of the configuration has a further one:
// what cannot change while a cluster lives is in no plan.
const (
	// CostNone: nothing that runs notices, or it takes the change up by itself.
	CostNone Cost = "none"
	// CostObject: an object of the API or a member of etcd is changed, or a Node.
	CostObject Cost = "object"
	// CostRestart: a component that runs on the node is restarted.
	CostRestart Cost = "restart"
	// CostReplace: the node leaves, and rejoins.
	CostReplace Cost = "node-replace"
)

// AttributeChange is one changed leaf of an item.
type AttributeChange struct {
	Path   string       `json:"path"`
	Before state.Value  `json:"before"`
	After  state.Value  `json:"after"`
	Origin state.Source `json:"origin,omitzero"`
	// Origins are those of the parts of a map or list that several lines want together:
	// of its leaves by their paths, or of its elements by their names or texts.
	Origins map[string]state.Source `json:"origins,omitempty"`
	// Outside reports whether what is there before was set by somebody else since the last
	// apply, whatever the item changes for: see Change.Mends.
	Outside bool `json:"outside,omitempty"`
}

// Touches reports whether the change is of what is at a path, in it or around it.
func (a AttributeChange) Touches(path string) bool {
	own, other := state.SplitPath(a.Path), state.SplitPath(path)
	n := min(len(own), len(other))
	return slices.Equal(own[:n], other[:n])
}

// SharedSetting is the name in Change.Shown that tells of what was changed on a node, and
// taken away there, that a block of its cluster refers to it.
const SharedSetting = "shared_setting"

// Change is what happens to one item, computed from desired and observed.
type Change struct {
	Address    state.Address     `json:"address"`
	Kind       state.Kind        `json:"kind"`
	Action     Action            `json:"action"`
	Attributes []AttributeChange `json:"attributes,omitempty"`
	// Reason says why: "configuration changed", "changed outside of kubewright",
	// "not there yet", "no longer in the configuration".
	Reason string `json:"reason"`
	// Cost is empty of drift, which is put right by the changes.
	Cost Cost `json:"cost,omitempty"`
	// Shown are attributes of an item that is there which are only shown, by name:
	// of a certificate when it ends and the days that are left.
	Shown map[string]state.Value `json:"shown,omitempty"`
}

// Mends reports whether a change takes back something that somebody else has changed, alone
// or beside what the configuration wants to be otherwise.
func (c Change) Mends() bool {
	return c.Reason == ReasonDrift || slices.ContainsFunc(c.Attributes, func(a AttributeChange) bool { return a.Outside })
}

// Step is one phase on one target: the unit that the executor schedules.
type Step struct {
	ID     state.Address `json:"id"`
	Phase  string        `json:"phase"`
	Target state.Target  `json:"target"`
	// Action is NoOp for a step that changes nothing, such as a snapshot: its
	// target counts as changed by other steps only.
	Action Action `json:"action"`
	// Via is the node through which a step of a cluster or of another node
	// reaches the API and etcd; zero for the step's own node.
	Via state.Target `json:"via,omitzero"`
	// Needs are steps that must be done before, in order and each once.
	Needs []state.Address `json:"needs,omitempty"`
	// Finally says that the step runs whatever became of its needs, and also when the run is
	// stopped, if any of them was begun.
	Finally bool `json:"finally,omitempty"`
	// Limits are names of which only so many steps may run at once; see Plan.Limits.
	Limits []string `json:"limits,omitempty"`
	// Expect holds the digest of each file (FileExpectation) and object
	// (ObjectExpectation) that was there when the plan was made and that the step
	// overwrites. The step is refused when one of them has changed since.
	Expect map[string]string `json:"expect,omitempty"`
	// RestsOn are attributes of what a step takes away as it is found, by their names:
	// which machine the host of a node that leaves is, and which member of etcd it has.
	// They are bound: a saved plan is not carried out where one is another by then.
	RestsOn map[string]state.Value `json:"rests_on,omitempty"`
	// Gates are conditions evaluated again right before the step.
	Gates []string `json:"gates,omitempty"`
	// Impact is what the step means to those who use the cluster.
	Impact string `json:"impact,omitempty"`
	// Pods are all pods that a drain looks at, or that end with a reset without one, in
	// order of their names. They are shown, and are no part of the digest.
	Pods       []DrainedPod `json:"pods,omitempty"`
	Operations Operations   `json:"operations"`
}

// PodsNamed is how many pods the impact of such a step names, beside those that matter.
const PodsNamed = 8

// DrainedPod is a pod of a node that is to be drained, or to be reset with its pods.
type DrainedPod struct {
	// Name is NAMESPACE/NAME.
	Name string `json:"name"`
	// Note says what brings it back and what is lost with it, or which option leaves
	// it where it is.
	Note string `json:"note"`
}

// String is NAMESPACE/NAME (NOTE).
func (p DrainedPod) String() string { return p.Name + " (" + p.Note + ")" }

// Expectation adds to Expect.
func (s *Step) Expectation(key, digest string) {
	if s.Expect == nil {
		s.Expect = map[string]string{}
	}
	s.Expect[key] = digest
}

// OnlyProves reports whether the step changes nothing: it waits until what is there
// runs. Whether it is needed depends on the moment.
func (s *Step) OnlyProves() bool {
	return len(s.Operations) > 0 && !slices.ContainsFunc(s.Operations, func(op Operation) bool {
		w, waits := op.(Wait)
		return !waits || w.For != WaitStaticPod && w.For != WaitHTTP
	})
}

// OnlyProves reports whether the plan changes nothing, and that there is something it waits for.
func (p *Plan) OnlyProves() bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s Step) bool { return !s.OnlyProves() })
}

// ResourceChange is a cluster, node or addon as the plan counts it.
type ResourceChange struct {
	Target state.Target `json:"target"`
	Action Action       `json:"action"`
	// Note tells a node apart on the screen: its address and role.
	Note string `json:"note,omitempty"`
	// Reason is set where the action needs one: "no longer in the configuration".
	Reason string `json:"reason,omitempty"`
	// MovedFrom is the name that the target had before this plan.
	MovedFrom state.Target `json:"moved_from,omitzero"`
	// ImportedFrom is where a target is found that somebody else made and that the
	// state learns with this plan: ssh://10.0.0.11.
	ImportedFrom string `json:"imported_from,omitempty"`
	// Before is what the state remembers of a target and After what its block says,
	// for the policies of reviewers: kubernetes_version of a cluster; cluster, role,
	// name and address of a node.
	Before map[string]string `json:"before,omitempty"`
	After  map[string]string `json:"after,omitempty"`
	// Partly tells of a cluster that is taken apart that some of it is left: it goes,
	// and is counted, with the last of its nodes.
	Partly bool `json:"partly,omitempty"`
	// Unchanged counts phases of the target without a change.
	Unchanged int `json:"unchanged,omitempty"`
	// There are the items of install and images that the host of a node to come has
	// already, as they are wanted.
	There []state.Address `json:"there,omitempty"`
}

// PolicyFinding is one thing that a policy has against a plan.
type PolicyFinding struct {
	// Policy is the name of the block.
	Policy string `json:"policy"`
	// Rule is max_destroys, protected, freeze or approval.
	Rule string `json:"rule"`
	// Message is a clause: 3 would be destroyed or replaced, and 1 may be.
	Message string `json:"message"`
	// Overridden reports whether it stops nothing: somebody has said so.
	Overridden bool         `json:"overridden,omitempty"`
	Source     state.Source `json:"source,omitzero"`
}

// Plan is what would be done: data, without closures and secrets, that
// round-trips through JSON. The same snapshots give the same bytes.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	ToolVersion   string `json:"tool_version"`
	Lineage       string `json:"lineage,omitempty"`
	Serial        int64  `json:"serial"`
	// ConfigDigest is the hex SHA-256 of the configuration and its variables.
	ConfigDigest string `json:"config_digest,omitempty"`
	// Destroy tells a plan made by destroy.
	Destroy bool `json:"destroy,omitempty"`
	// RefreshOnly tells a plan that changes the state alone: what drifted is
	// recorded as it is.
	RefreshOnly bool `json:"refresh_only,omitempty"`
	// Command is how the plan was asked for, where that is neither apply nor
	// destroy: etcd restore FILE.
	Command string `json:"command,omitempty"`
	// Resources in the order of the configuration's addresses.
	Resources []ResourceChange `json:"resources,omitempty"`
	// Changes are sorted by address.
	Changes []Change `json:"changes,omitempty"`
	// Forgotten are items that the state drops, because nobody wants them any
	// more and there is nothing to be done about them. They are no change.
	Forgotten []state.Address `json:"forgotten,omitempty"`
	// Moved are the targets whose names in the state change.
	Moved []state.Moved `json:"moved,omitempty"`
	// Replace, AcceptNewHost and ForgetUnreachable are the addresses of nodes that
	// were given with the flags of these names.
	Replace           []string `json:"replace,omitempty"`
	AcceptNewHost     []string `json:"accept_new_host,omitempty"`
	ForgetUnreachable []string `json:"forget_unreachable,omitempty"`
	// Drift is what changed outside since the last apply; reported, and put
	// right by Changes where configuration refers to it.
	Drift []Change `json:"drift,omitempty"`
	// CutShort are the addresses of nodes, and of steps on them, of which a refresh-only
	// plan does not tell what changed outside: an apply that was cut short has left them
	// otherwise than the state says.
	CutShort []string `json:"cut_short,omitempty"`
	// Steps are in an order in which they could run one by one.
	Steps []Step `json:"steps,omitempty"`
	// Limits bounds how many steps that carry a name may run at once.
	Limits map[string]int `json:"limits,omitempty"`
	// Quorum is the sentence about etcd membership, per cluster.
	Quorum []string `json:"quorum,omitempty"`
	// Upgrades are sentences, one per cluster whose versions change: from which to
	// which, and in what order. Lines behind the first list batches of workers.
	Upgrades []string `json:"upgrades,omitempty"`
	// Rotations are sentences, one per CA that is rotated.
	Rotations []string `json:"rotations,omitempty"`
	// Certificates are those that the hosts of the configuration held when the plan
	// was made, by node in the order of the configuration. They are shown, and are no
	// part of the digest.
	Certificates []CertificateEnd `json:"certificates,omitempty"`
	// Outputs are the configuration's outputs as far as they are known.
	Outputs map[string]state.Value `json:"outputs,omitempty"`
	// Targets and SkippedPhases restrict the plan: of what lies outside, it says nothing.
	Targets       []string `json:"targets,omitempty"`
	Excluded      []string `json:"excluded,omitempty"`
	SkippedPhases []string `json:"skipped_phases,omitempty"`
	// LeftOut are nodes and steps that are left out although Excluded does not mean
	// them, since they need what it means.
	LeftOut []string `json:"left_out,omitempty"`
	// OverriddenPolicies are the names that were given with the flag -override-policy.
	OverriddenPolicies []string `json:"overridden_policies,omitempty"`
	// Policies is what the policies said when the plan was made; an apply asks them
	// again. It depends on the time and on who approves, and is no part of the digest.
	Policies []PolicyFinding `json:"policies,omitempty"`
	// Diagnostics are the warnings about the configuration and the plan that it was shown
	// with, for whoever reads it elsewhere; they hold no secret, and are no part of the
	// digest.
	Diagnostics []diag.JSON `json:"diagnostics,omitempty"`
	// Withheld lists targets whose steps were left out, and why.
	Withheld []state.Unobserved `json:"withheld,omitempty"`
}

// Empty reports that nothing would be done, neither to hosts nor to the names
// in the state.
func (p *Plan) Empty() bool {
	if p.RefreshOnly {
		return len(p.Drift)+len(p.Moved) == 0
	}
	return len(p.Steps) == 0 && len(p.Changes) == 0 && len(p.Moved) == 0 && p.Imports() == 0 &&
		!slices.ContainsFunc(p.Resources, func(r ResourceChange) bool { return r.Action == Forget || r.endsCluster() })
}

// endsCluster tells of a cluster that is taken apart that all of it goes. Where its nodes
// have left before, and the write of the state was lost, it goes from the state alone.
func (r ResourceChange) endsCluster() bool {
	return r.Target.Type == state.TypeCluster && r.Action == Delete && !r.Partly
}

// Restricted reports that the plan refers to a part of the configuration only.
func (p *Plan) Restricted() bool { return len(p.Targets)+len(p.Excluded)+len(p.SkippedPhases) > 0 }

// Counts returns the numbers of Terraform's summary sentence: each cluster, node
// and addon once, a replacement in add and in destroy.
func (p *Plan) Counts() (add, change, destroy int) {
	for _, r := range p.Resources {
		switch r.Action {
		case Create:
			add++
		case Update:
			change++
		case Delete:
			if !r.Partly {
				destroy++
			}
		case Replace:
			add++
			destroy++
		}
	}
	return add, change, destroy
}

// Imports counts the clusters and nodes that the state learns.
func (p *Plan) Imports() int {
	count := 0
	for _, r := range p.Resources {
		if r.ImportedFrom != "" {
			count++
		}
	}
	return count
}

// Step returns the step with the ID, or nil.
func (p *Plan) Step(id state.Address) *Step {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}
	return nil
}
