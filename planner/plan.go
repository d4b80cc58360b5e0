package planner

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// Action is what happens to an item or a resource.
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

// The reasons of a change.
const (
	ReasonNew          = "not there yet"
	ReasonConfigured   = "configuration changed"
	ReasonDrift        = "changed outside of kubewright"
	ReasonUnconfigured = "no longer in the configuration"
	ReasonRequested    = "as requested"
	ReasonIncomplete   = "an earlier apply did not finish"
	ReasonDue          = "renewal due"
)

// Cost is what a change means for running components.
type Cost string

// The costs, cheapest first. The schema of the configuration has one more, for values that cannot
// change during the life of a cluster; it never occurs in a plan.
const (
	// CostNone: no running component is affected, or it picks the change up by itself.
	CostNone Cost = "none"
	// CostObject: an API object, an etcd member or a Node is changed.
	CostObject Cost = "object"
	// CostRestart: a component that runs on the node is restarted.
	CostRestart Cost = "restart"
	// CostReplace: the node is removed, and joins again.
	CostReplace Cost = "node-replace"
)

// AttributeChange is one changed leaf of an item.
type AttributeChange struct {
	Path   string       `json:"path"`
	Before state.Value  `json:"before"`
	After  state.Value  `json:"after"`
	Origin state.Source `json:"origin,omitzero"`
	// Origins are the origins of the parts of a map or list that several lines configure together:
	// of its leaves by their paths, or of its elements by their names or texts.
	Origins map[string]state.Source `json:"origins,omitempty"`
	// Outside reports whether the value in Before was set by another user or component since the
	// last apply, whatever the reason of the change: see Change.Mends.
	Outside bool `json:"outside,omitempty"`
}

// Touches reports whether the change affects the value at path, a part of it, or a value around it.
func (a AttributeChange) Touches(path string) bool {
	own, other := state.SplitPath(a.Path), state.SplitPath(path)
	n := min(len(own), len(other))
	return slices.Equal(own[:n], other[:n])
}

// SharedSetting is the name in Change.Shown for a value that was changed and then removed on a
// node, and that a block of its cluster refers to.
const SharedSetting = "shared_setting"

// Change is what happens to one item, computed from desired and observed.
type Change struct {
	Address    state.Address     `json:"address"`
	Kind       state.Kind        `json:"kind"`
	Action     Action            `json:"action"`
	Attributes []AttributeChange `json:"attributes,omitempty"`
	// Reason is one of the Reason constants.
	Reason string `json:"reason"`
	// Cost is empty in Plan.Drift: the changes correct drift.
	Cost Cost `json:"cost,omitempty"`
	// Shown are attributes of an existing item for display only, by name: of a certificate when it
	// expires and the days that are left.
	Shown map[string]state.Value `json:"shown,omitempty"`
}

// Mends reports whether a change reverts something that was changed outside of kubewright, alone or
// together with a change of the configuration.
func (c Change) Mends() bool {
	return c.Reason == ReasonDrift || slices.ContainsFunc(c.Attributes, func(a AttributeChange) bool { return a.Outside })
}

// Step is one phase on one target: the unit that the executor schedules.
type Step struct {
	ID     state.Address `json:"id"`
	Phase  string        `json:"phase"`
	Target state.Target  `json:"target"`
	// Action is NoOp for a step that changes nothing, such as a snapshot: its target counts as
	// changed only through other steps.
	Action Action `json:"action"`
	// Via is the node through which a step of a cluster or of another node reaches the API and
	// etcd; zero for the step's own node.
	Via state.Target `json:"via,omitzero"`
	// Needs are the steps that must be done before, in plan order and without duplicates.
	Needs []state.Address `json:"needs,omitempty"`
	// Finally reports whether the step runs whatever the outcome of its needs, even when the run is
	// stopped, provided that one of them was begun.
	Finally bool `json:"finally,omitempty"`
	// Limits are names of limits on how many steps may run at once; see Plan.Limits.
	Limits []string `json:"limits,omitempty"`
	// Expect holds the digest of each file (FileExpectation) and object (ObjectExpectation) that
	// existed when the plan was made and that the step overwrites. The step is refused when one of
	// them has changed since.
	Expect map[string]string `json:"expect,omitempty"`
	// RestsOn are observed attributes of what a step removes, by name: the machine ID of a
	// departing node's host, and its etcd member. They are part of the digest: a saved plan is
	// refused when one of them has changed.
	RestsOn map[string]state.Value `json:"rests_on,omitempty"`
	// Gates are conditions that are evaluated again right before the step.
	Gates []string `json:"gates,omitempty"`
	// Impact is the effect of the step on the users of the cluster.
	Impact string `json:"impact,omitempty"`
	// Pods are all pods that a drain considers, or that end with a reset without a drain, sorted by
	// name. They are for display, and not part of the digest.
	Pods       []DrainedPod `json:"pods,omitempty"`
	Operations Operations   `json:"operations"`
}

// PodsNamed is how many pods the impact of such a step names, or all that matter if these are more.
const PodsNamed = 8

// DrainedPod is a pod of a node that is to be drained, or to be reset with its pods.
type DrainedPod struct {
	// Name is NAMESPACE/NAME.
	Name string `json:"name"`
	// Note says what brings the pod back and what is lost with it, or which option keeps it where
	// it is.
	Note string `json:"note"`
}

// String is NAMESPACE/NAME (NOTE).
func (p DrainedPod) String() string { return p.Name + " (" + p.Note + ")" }

// OnlyProves reports whether the step changes nothing and only waits until existing components run.
// Whether such a step is needed depends on the moment.
func (s *Step) OnlyProves() bool {
	return len(s.Operations) > 0 && !slices.ContainsFunc(s.Operations, func(op Operation) bool {
		w, waits := op.(Wait)
		return !waits || w.For != WaitStaticPod && w.For != WaitHTTP
	})
}

// OnlyProves reports whether the plan changes nothing, and has at least one step that waits.
func (p *Plan) OnlyProves() bool {
	return len(p.Steps) > 0 && !slices.ContainsFunc(p.Steps, func(s Step) bool { return !s.OnlyProves() })
}

// ResourceChange is a cluster, node or addon as counted in the plan.
type ResourceChange struct {
	Target state.Target `json:"target"`
	Action Action       `json:"action"`
	// Note identifies a node on the screen: its address and role.
	Note string `json:"note,omitempty"`
	// Reason is set where the action needs one: "no longer in the configuration".
	Reason string `json:"reason,omitempty"`
	// MovedFrom is the name that the target had before this plan.
	MovedFrom state.Target `json:"moved_from,omitzero"`
	// ImportedFrom is where an existing target is adopted from that kubewright did not make:
	// ssh://10.0.0.11.
	ImportedFrom string `json:"imported_from,omitempty"`
	// Before is what the state recorded of a target and After what its block says, for the policies
	// of reviewers: kubernetes_version of a cluster; cluster, role, name and address of a node.
	Before map[string]string `json:"before,omitempty"`
	After  map[string]string `json:"after,omitempty"`
	// Partly reports that a part of a destroyed cluster remains: the cluster is deleted, and
	// counted, with the last of its nodes.
	Partly bool `json:"partly,omitempty"`
	// Loses is what ends with a destroyed cluster. It is for display, and not part of the digest.
	Loses *Loss `json:"loses,omitempty"`
	// Unchanged counts phases of the target without a change.
	Unchanged int `json:"unchanged,omitempty"`
	// There are the items of install and images that the host of a joining node already has as
	// desired.
	There []state.Address `json:"there,omitempty"`
}

// Loss is what ends with a cluster.
type Loss struct {
	// Unobserved reports that the API of a cluster that once ran does not answer: what runs there
	// is not known.
	Unobserved bool `json:"unobserved,omitempty"`
	state.Losses
}

// PolicyFinding is one objection of a policy to a plan.
type PolicyFinding struct {
	// Policy is the name of the block.
	Policy string `json:"policy"`
	// Rule is max_destroys, protected, freeze or approval.
	Rule string `json:"rule"`
	// Message is a clause: 3 would be destroyed or replaced, and 1 may be.
	Message string `json:"message"`
	// Overridden reports whether the operator has overridden the finding: it stops nothing.
	Overridden bool         `json:"overridden,omitempty"`
	Source     state.Source `json:"source,omitzero"`
}

// Plan is everything that an apply would do: data, without closures and secrets, that round-trips
// through JSON. The same snapshots give the same bytes.
type Plan struct {
	FormatVersion int    `json:"format_version"`
	ToolVersion   string `json:"tool_version"`
	Lineage       string `json:"lineage,omitempty"`
	Serial        int64  `json:"serial"`
	// ConfigDigest is the hex SHA-256 of the configuration and its variables.
	ConfigDigest string `json:"config_digest,omitempty"`
	// Commit is the git commit that was checked out where the configuration is, if known. It is for
	// display, and not part of the digest.
	Commit string `json:"commit,omitempty"`
	// Destroy reports whether destroy made the plan.
	Destroy bool `json:"destroy,omitempty"`
	// RefreshOnly reports whether the plan changes only the state: drift is recorded as observed.
	RefreshOnly bool `json:"refresh_only,omitempty"`
	// Command is the command that made the plan, when it is neither apply nor destroy: etcd restore
	// FILE.
	Command string `json:"command,omitempty"`
	// Resources in the order of the configuration's addresses.
	Resources []ResourceChange `json:"resources,omitempty"`
	// Changes are sorted by address.
	Changes []Change `json:"changes,omitempty"`
	// Forgotten are items that the state drops because they are no longer desired and need no
	// action on hosts. They are no change.
	Forgotten []state.Address `json:"forgotten,omitempty"`
	// Moved are the targets whose names in the state change.
	Moved []state.Moved `json:"moved,omitempty"`
	// Replace, AcceptNewHost and ForgetUnreachable are the node addresses given with the flags of
	// these names.
	Replace           []string `json:"replace,omitempty"`
	AcceptNewHost     []string `json:"accept_new_host,omitempty"`
	ForgetUnreachable []string `json:"forget_unreachable,omitempty"`
	// Drift is what changed outside of kubewright since the last apply. It is reported, and
	// corrected by Changes where the configuration refers to it.
	Drift []Change `json:"drift,omitempty"`
	// Interrupted are the addresses of nodes, and of steps on them, for which a refresh-only plan
	// reports no drift: an interrupted apply has left them different from the state.
	Interrupted []string `json:"cut_short,omitempty"`
	// Steps are in an order in which they could run one by one.
	Steps []Step `json:"steps,omitempty"`
	// Limits says, by name, how many steps with that limit may run at once.
	Limits map[string]int `json:"limits,omitempty"`
	// Quorum holds the sentences about etcd membership, per cluster.
	Quorum []string `json:"quorum,omitempty"`
	// Upgrades are sentences, one per cluster whose version changes: from which version to which,
	// and in what order. Lines after the first list batches of workers.
	Upgrades []string `json:"upgrades,omitempty"`
	// Rollouts are sentences, one per phase that restarts kubelets or container runtimes of several
	// nodes.
	Rollouts []string `json:"rollouts,omitempty"`
	// Rotations are sentences, one per CA that is rotated.
	Rotations []string `json:"rotations,omitempty"`
	// Certificates are those that the hosts of the configuration held when the plan was made, by
	// node in configuration order. They are for display, and not part of the digest.
	Certificates []CertificateEnd `json:"certificates,omitempty"`
	// Outputs are the outputs of the configuration as far as they are known.
	Outputs map[string]state.Value `json:"outputs,omitempty"`
	// Targets, Excluded and SkippedPhases restrict the plan, which says nothing about the rest.
	Targets       []string `json:"targets,omitempty"`
	Excluded      []string `json:"excluded,omitempty"`
	SkippedPhases []string `json:"skipped_phases,omitempty"`
	// LeftOut are nodes and steps that are dropped although Excluded does not select them, because
	// they need something that it selects.
	LeftOut []string `json:"left_out,omitempty"`
	// OverriddenPolicies are the names given with the flag -override-policy.
	OverriddenPolicies []string `json:"overridden_policies,omitempty"`
	// Policies are the findings of the policies when the plan was made; an apply evaluates them
	// again. They depend on the time and on the approvers, and are not part of the digest.
	Policies []PolicyFinding `json:"policies,omitempty"`
	// Diagnostics are the warnings about the configuration and the plan, for readers of the saved
	// plan. They hold no secret, and are not part of the digest.
	Diagnostics []diag.JSON `json:"diagnostics,omitempty"`
	// Withheld lists targets whose steps were left out, and why.
	Withheld []state.Unobserved `json:"withheld,omitempty"`
	// WithheldSteps is what waits until they are back, as far as it is known.
	WithheldSteps []WithheldStep `json:"withheld_steps,omitempty"`
	// Unpermitted are those of the targets in Withheld without which the plan may only be read: the
	// operator has not permitted to apply it without them. They are not part of the digest.
	Unpermitted []state.Target `json:"unpermitted,omitempty"`
}

// Empty reports whether the plan would do nothing, neither to hosts nor to the names in the state.
func (p *Plan) Empty() bool {
	if p.RefreshOnly {
		return len(p.Drift)+len(p.Moved) == 0
	}
	return len(p.Steps) == 0 && len(p.Changes) == 0 && len(p.Moved) == 0 && p.Imports() == 0 &&
		!slices.ContainsFunc(p.Resources, func(r ResourceChange) bool { return r.Action == Forget || r.endsCluster() })
}

// endsCluster reports whether the whole cluster is destroyed. When its nodes were removed before
// and the write of the state was lost, only the state drops it.
func (r ResourceChange) endsCluster() bool {
	return r.Target.Type == state.TypeCluster && r.Action == Delete && !r.Partly
}

// Restricted reports whether the plan covers only a part of the configuration.
func (p *Plan) Restricted() bool { return len(p.Targets)+len(p.Excluded)+len(p.SkippedPhases) > 0 }

// Counts returns the numbers of Terraform's summary sentence: each cluster, node and addon counts
// once, a replacement in add and in destroy.
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

// Imports returns the number of clusters and nodes that the plan imports into the state.
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
