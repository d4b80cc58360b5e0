package hclconfig

import _ "embed"

// testRoot is the language of test files, which are no part of the configuration.
var testRoot = &Block{Blocks: []*Block{testVariablesBlock, testRunBlock}}

// TestSchema returns the language of test files.
func TestSchema() *Block { return testRoot }

var testVariablesBlock = &Block{
	Name: "variables", Free: true, Doc: "Values of the configuration's variables: each attribute is one, a constant. They precede the environment, files of values and the command line; those of a run precede those of the file.",
}

var testRunBlock = &Block{
	Name: "run", Label: "NAME", Doc: "One command, and what has to be true afterwards. Runs are carried out in their order; each finds the hosts and the state that the runs before it left.",
	Attributes: []Attribute{
		{Name: "command", Type: typeCommand, Derived: "`plan`", Doc: "`plan`, `apply` or `destroy`, without quotes."},
		{Name: "expect_findings", Type: typeStrings, Doc: "Titles of errors and warnings that the command has to report. An error that is not in the list fails the run, and so does a title that is not reported. The command may end with errors only if all of them are in the list."},
	},
	Blocks: []*Block{
		testVariablesBlock,
		{
			Name: "edit", Repeat: true, Doc: "A change that is made by hand on simulated hosts before the command, as `kubewright sim edit` makes it. Edits come in their order, before faults.",
			Attributes: []Attribute{
				{Name: "hosts", Type: typeOneOrMore, Required: true, Doc: "The host, or several: addresses or names of nodes, as in `node.cp[\"cp1\"].address`."},
				{Name: "change", Type: typeString, Required: true, NonEmpty: true, Doc: "What is changed, in the words of [`sim edit`](commands.md#kubewright-sim-edit), as in `power off` or `yaml /var/lib/kubelet/config.yaml set maxPods=50`."},
			},
		},
		{
			Name: "fault", Repeat: true, Doc: "Calls of the command to simulated hosts that fail. It ends with the run, which fails if no call was hit.",
			Attributes: []Attribute{
				{Name: "hosts", Type: typeOneOrMore, Derived: "any host", Doc: "The host, or several. Without it the call that is hit may be on another host in each run of the tests: hosts are observed at the same time."},
				{Name: "kind", Type: typeString, Required: true, Doc: "`unreachable`: no connection; `fail`: the operation fails on the host; `drop-before` and `drop-after`: the connection is lost before the effect, or after it and before the answer; `partial`: in the middle of it; `hang`: no answer within a minute."},
				{Name: "operation", Type: typeString, Derived: "any call", Doc: "Pattern for the call: an operation of a step such as `write_file`, or `observe`, `read_secrets`, `http`, `api.observe`, `api.ready`, `etcd.members`."},
				{Name: "subject", Type: typeString, Derived: "any subject", Doc: "Pattern for what the operation is about: a path, a unit, a node."},
				{Name: "skip", Type: typeNumber, Default: 0, Doc: "How many such calls succeed first."},
				{Name: "times", Type: typeNumber, Default: 1, Doc: "How many then fail; -1 for all."},
			},
		},
		{
			Name: "assert", Repeat: true, Doc: "What has to be true when the command has ended.",
			Attributes: conditionRows("Expression that has to be true. Besides what a configuration can refer to, it has `plan`, `hosts` and `output`.", "What to say when it is not."),
		},
	},
}

// TestReference returns the reference documentation of test files, as Markdown:
// docs/reference/test-files.md.
func TestReference() string {
	var b referencePage
	b.WriteString(testIntro)
	for _, block := range testRoot.Blocks {
		b.block(block, "", 2)
	}
	b.WriteString(testValuesText)
	return b.String()
}

var (
	//go:embed pages/test_files.md
	testIntro string
	//go:embed pages/test_values.md
	testValuesText string
)

// testCommands are the commands of runs.
var testCommands = []string{"plan", "apply", "destroy"}

// The names that expressions of test files can begin with: before the command of a run, and
// after it.
var (
	namesBefore = []string{"var", "local", "cluster", "node", "path"}
	namesAfter  = append([]string{"plan", "hosts", "output"}, namesBefore...)
)
