package console

// Summaries about saved plans that the state's key does not authenticate.
const (
	NotAuthentic = "Saved plan is not authentic"
	NotApproved  = "Saved plan is not approved"
)

// PolicyRefuses is the summary of a plan that policies refuse.
const PolicyRefuses = "Refused by a policy"

// Summaries of plans that are not carried out because they are not the approved ones.
const (
	PlanIsStale = "Saved plan is stale"
	AnotherPlan = "Another plan was approved"
)
