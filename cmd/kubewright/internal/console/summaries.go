package console

// Summaries about saved plans that the state's key does not authenticate.
const (
	NotAuthentic = "Saved plan is not authentic"
	NotApproved  = "Saved plan is not approved"
)

// PolicyRefuses is the summary of a plan that policies do not let through.
const PolicyRefuses = "Refused by a policy"

// Summaries of plans that are not carried out because they are not what was approved.
const (
	PlanIsStale = "Saved plan is stale"
	AnotherPlan = "Another plan was approved"
)
