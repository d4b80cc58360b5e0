package hclconfig

// root is the language. Every name in it is a row below root.
var root = &Block{
	Blocks: []*Block{settingsBlock, variableBlock, localsBlock, clusterBlock, connectionBlock, nodeBlock, outputBlock, checkBlock, policyBlock, movedBlock, removedBlock, importBlock},
}

var settingsBlock = &Block{
	Name: "kubewright", Doc: "Settings of the configuration itself.",
	Attributes: []Attribute{
		{Name: "required_version", Type: typeString, Cost: CostNone, Doc: "Versions of kubewright that may be used, as in `>= 0.1.0, < 2.0.0`. The operators are `=`, `!=`, `>`, `>=`, `<`, `<=` and `~>`."},
	},
	Blocks: []*Block{backendBlock, encryptionBlock},
}

var encryptionBlock = &Block{
	Name: "encryption", Doc: "Encrypts state, backups, journal and saved plans with age.",
	Attributes: []Attribute{
		{Name: "recipients", Type: typeStrings, Required: true, Cost: CostNone, Doc: "Public keys that can decrypt them: `age1…` as `age-keygen` prints it, or `ssh-ed25519 AAAA…` and `ssh-rsa AAAA…` as in `~/.ssh/*.pub`. A constant: it is read before anything else."},
	},
}

var variableBlock = &Block{
	Name: "variable", Label: "NAME", Doc: "A value that comes from outside: `var.NAME`. Later sources win: the environment (`KUBEWRIGHT_VAR_NAME`), `kubewright.kwvars`, `kubewright.kwvars.json`, `*.auto.kwvars` and `*.auto.kwvars.json` by name, `-var` and `-var-file` in the order of the command line.",
	Attributes: []Attribute{
		{Name: "type", Type: typeConstraint, Cost: CostNone, Doc: "Type constraint: `string`, `number`, `bool`, `list(T)`, `set(T)`, `map(T)`, `tuple([…])`, `object({…})` with `optional(T, default)`, or `any`."},
		{Name: "default", Type: typeAny, Cost: CostNone, Doc: "Value when none is given. Without it the variable is required. It must be a constant."},
		{Name: "description", Type: typeString, Cost: CostNone, Doc: "What the variable is for."},
		{Name: "sensitive", Type: typeBool, Default: false, Cost: CostNone, Doc: "Never print the value, nor what is made of it."},
		{Name: "nullable", Type: typeBool, Default: true, Cost: CostNone, Doc: "Whether null is a value. With `false` null stands for the default."},
	},
	Blocks: []*Block{{
		Name: "validation", Repeat: true, Doc: "A condition that the value must fulfil.",
		Attributes: conditionRows("Expression that is true for a good value; it refers to the variable as `var.NAME`.", "What to say when it is not."),
	}},
}

var localsBlock = &Block{
	Name: "locals", Repeat: true, Free: true, Doc: "Named expressions: each attribute is `local.NAME`.",
}

var outputBlock = &Block{
	Name: "output", Label: "NAME", Doc: "A value to print after an apply, and for other tools: `kubewright output NAME`.",
	Attributes: []Attribute{
		{Name: "value", Type: typeAny, Required: true, Cost: CostNone, Doc: "The value."},
		{Name: "description", Type: typeString, Cost: CostNone, Doc: "What it is for."},
		{Name: "sensitive", Type: typeBool, Default: false, Cost: CostNone, Doc: "Never print it, and keep no value of it in the state: to ask for it by name is an error. Required when the value is made of something sensitive."},
	},
}
