package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// Apply makes the change of an expression to a machine, or to its cluster.
func Apply(s *apiserver.Servers, m *machine.Machine, expr string) error {
	e := &edit{expression{expr, strings.TrimSpace(expr)}, s, m}
	return e.run()
}

// edit is one edit of a machine, or of its cluster.
type edit struct {
	expression
	servers *apiserver.Servers
	m       *machine.Machine
}

func (e *edit) run() error {
	verbs := map[string]func() error{
		"file": e.file, "yaml": e.yaml, "label": e.label, "annotate": e.annotate, "taint": e.taint, "object": e.object,
		"node": e.deleteNode, "cordon": func() error { return e.cordon(true) }, "uncordon": func() error { return e.cordon(false) },
		"unit": e.unit, "sysctl": e.sysctl, "module": e.module, "swap": e.swap, "user": func() error { return changeUser(e) }, "image": e.image,
		"install": e.install, "package": e.pkg, "foreign": e.foreign, "mark": e.mark, "power": e.power, "reinstall": e.reinstall, "profile": e.profile, "condition": e.condition, "pod": e.pod,
		"link": e.link, "hardware": e.hardware, "port": e.port, "preflight": e.preflight, "time": e.time, "etcd": e.etcd, "budget": e.budget, "claim": e.claim, "deprecated": e.deprecated,
	}
	verb, err := e.word("a verb")
	if err != nil {
		return err
	}
	do, ok := verbs[verb]
	if !ok {
		return fmt.Errorf("unknown verb %q; one of %s", verb, strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	if err := do(); err != nil {
		return err
	}
	if e.rest != "" {
		return fmt.Errorf("unexpected %q at the end", e.rest)
	}
	return nil
}
