package hclconfig

// hardeningBlock describes which controls of a benchmark a cluster fulfils.
var hardeningBlock = &Block{
	Name: "hardening", Doc: "What a benchmark asks of the cluster. Each control gives settings a value where the configuration says nothing; a setting that contradicts a control is an error. Plans name the control beside each value. [Controls](hardening.md) lists them.",
	Attributes: []Attribute{
		{Name: "profile", Type: typeString, NonEmpty: true, Cost: CostRestart, Doc: "`cis`: sections 1 to 4 of the CIS Kubernetes Benchmark, Pod Security, and the kernel parameters that kubelets expect. Without it only `controls` hold."},
		{Name: "controls", Type: typeStrings, Cost: CostRestart, Doc: "Numbers of controls, as in `1.2.11`: with a profile those that it leaves to you, without one all that are to hold."},
	},
	Blocks: []*Block{controlExceptBlock},
}

var controlExceptBlock = &Block{
	Name: "except", Label: "NUMBER", Doc: "A control that is not to hold.",
	Attributes: []Attribute{
		{Name: "reason", Type: typeString, Required: true, NonEmpty: true, Cost: CostRestart, Doc: "Why. Auditors read it."},
	},
}
