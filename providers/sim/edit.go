package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
)

// EditHelp lists what Edit understands.
const EditHelp = `file PATH set-arg NAME=VALUE       set a flag of a static pod
file PATH unset-arg NAME
file PATH content TEXT             replace the content
file PATH append TEXT              add a line
file PATH mode 0600
file PATH owner USER:GROUP
file PATH move ELSEWHERE           and leave a symbolic link to there
file PATH delete
file PATH renew                    a certificate or kubeconfig, as kubeadm certs renew does
file PATH trust BASE64             a kubeconfig trusts one more CA: its certificate in PEM, in base64
yaml PATH set FIELD=VALUE          set a field, as in maxPods=50 or a.b=text
yaml PATH unset FIELD
label NODE KEY=VALUE               or KEY- to remove
annotate NODE KEY=VALUE            or KEY- to remove
taint NODE KEY=VALUE:EFFECT        or KEY:EFFECT- to remove
cordon NODE                        or uncordon NODE
node NODE delete                   the Node object, as kubectl delete node does
object KIND NAMESPACE/NAME set FIELD=VALUE
object KIND NAMESPACE/NAME delete
unit NAME start|stop|restart|enable|disable
sysctl NAME=VALUE
module NAME load|unload
link NAME@BRIDGE                   another container engine's
swap on|off
image add|remove REF
install PROGRAM=VERSION            another kubelet, kubeadm, kubectl or containerd
package NAME hold|unhold|STATUS    in the package manager's data base, as in half-configured
power on|off|reboot
foreign                            what kubewright left on the host to know it by is gone: kubeadm made it
mark NAME=VALUE                    kubewright's mark on the host, as root there could change it: lineage, format,
                                   cluster, node, ca, token, or unreadable=FILE for one that holds garbage
reinstall                          the machine as it was delivered, with another machine id
profile bare|prepared              a machine without runtime, kubelet and images, or with them
hardware NAME=VALUE                cpus, memory (MiB), kernel, os, hostname
port NUMBER listen|close           by somebody else's program
preflight NAME=VALUE               what the host answers, as in kernel_missing=MEMCG or hostname_resolves=false
condition NAME on|off              unreachable, changed-host-key, refuses-key, no-sudo, no-systemd, cgroup-v1,
                                   disk-full, no-registry, no-mirror, no-forwarding, foreign-cluster,
                                   cri-disabled (of containerd, as Docker packages it),
                                   unprobed (the kubelet shows its static pods as not ready, as it does until
                                   it has probed them)
condition no-module NAME|none          which the kernel does not have
condition no-package NAME=VERSION|none  which the package repository does not have
condition package-lock PROGRAM|off that works with the package manager
condition arch ARCH
condition clock-skew DURATION
time DURATION                      passes everywhere, as in 8000h
pod NAMESPACE/NAME NODE|delete [emptydir] [bare] [local] [unready] [terminating] [tolerant] [on=KEY=VALUE]
                                   a workload's pod that a drain has to evict: with data of its own,
                                   without a controller, with a volume on the host's disk, not ready,
                                   deleted now and never gone, that tolerates every taint, or that wants
                                   a label of its node
claim NAMESPACE/NAME NODE|delete   a PersistentVolumeClaim that no pod uses, with its volume on the host's disk
budget NAMESPACE/APP NUMBER|delete a PodDisruptionBudget: so many pods named APP-… have to stay
deprecated API RELEASE NAME        somebody who signs as NAME asks the API server for API, written as
                                   GROUP/VERSION/RESOURCE, which RELEASE does not serve any more
etcd garbage BYTES                 what the host's etcd member has on its disk and does not use
etcd history BYTES                 what all members hold of the past until etcd is compacted, by API servers every
                                   five minutes
etcd alarm NOSPACE|CORRUPT         as etcd raises it of the member
etcd member ID                     it was taken out by hand and has joined again, so that it has this ID`

// Edit changes something on a host, or in the cluster that it is a node of, by
// hand. The expression is one of EditHelp; the last word may contain blanks.
func Edit(w *World, host string, expr string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &edit{w: w, m: w.machine(host), expr: expr, rest: strings.TrimSpace(expr)}
	if err := e.run(); err != nil {
		return fmt.Errorf("cannot edit %s: %w", host, err)
	}
	w.wake(e.m)
	w.settle()
	return nil
}

// edit is one expression on its way.
type edit struct {
	w    *World
	m    *machine
	expr string
	rest string
}

// word takes the next word off the expression.
func (e *edit) word(what string) (string, error) {
	word, rest, _ := strings.Cut(e.rest, " ")
	e.rest = strings.TrimSpace(rest)
	if word == "" {
		return "", fmt.Errorf("%q ends where %s is expected", e.expr, what)
	}
	return word, nil
}

// words takes as many words as there are names for them.
func (e *edit) words(what ...string) ([]string, error) {
	out := make([]string, len(what))
	for i, name := range what {
		var err error
		if out[i], err = e.word(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pair takes the rest as NAME=VALUE.
func (e *edit) pair(what string) (string, string, error) {
	name, value, ok := strings.Cut(e.rest, "=")
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q is not written %s", e.rest, what)
	}
	e.rest = ""
	return strings.TrimSpace(name), strings.TrimSpace(value), nil
}

func (e *edit) run() error {
	verbs := map[string]func() error{
		"file": e.file, "yaml": e.yaml, "label": e.label, "annotate": e.annotate, "taint": e.taint, "object": e.object,
		"node": e.deleteNode, "cordon": func() error { return e.cordon(true) }, "uncordon": func() error { return e.cordon(false) },
		"unit": e.unit, "sysctl": e.sysctl, "module": e.module, "swap": e.swap, "image": e.image,
		"install": e.install, "package": e.pkg, "foreign": e.foreign, "mark": e.mark, "power": e.power, "reinstall": e.reinstall, "profile": e.profile, "condition": e.condition, "pod": e.pod,
		"link": e.link, "hardware": e.hardware, "port": e.port, "preflight": e.preflight, "time": e.time, "etcd": e.etcd, "budget": e.budget, "claim": e.claim, "deprecated": e.deprecated,
	}
	verb, err := e.word("a verb")
	if err != nil {
		return err
	}
	do, ok := verbs[verb]
	if !ok {
		return fmt.Errorf("unknown verb %q; one of %s", verb, strings.Join(sortedKeys(verbs), ", "))
	}
	if err := do(); err != nil {
		return err
	}
	if e.rest != "" {
		return fmt.Errorf("unexpected %q at the end", e.rest)
	}
	return nil
}

func (e *edit) file() error {
	w, err := e.words("a path", "set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust")
	if err != nil {
		return err
	}
	p, f := clean(w[0]), e.w.get(e.m, clean(w[0]))
	if f == nil && w[1] != "content" && w[1] != "append" {
		return fmt.Errorf("%s does not exist", p)
	}
	mode, owner := "", ""
	if f != nil {
		mode, owner = f.mode(), f.owner()
	}
	rest := e.rest
	switch w[1] {
	case "set-arg", "unset-arg":
		return e.arg(p, w[1] == "set-arg")
	case "content", "append":
		e.rest = ""
		if w[1] == "append" {
			rest = string(e.w.content(f)) + rest
		}
		e.w.put(e.m, p, e.w.contentFile([]byte(rest+"\n"), mode, owner))
	case "mode", "owner":
		if _, err := e.word("a " + w[1]); err != nil {
			return err
		}
		if w[1] == "mode" {
			mode = rest
		} else {
			owner = rest
		}
		e.w.put(e.m, p, f.withMode(mode, owner))
	case "move":
		to, err := e.word("another path")
		if err != nil {
			return err
		}
		e.w.put(e.m, clean(to), f)
		e.w.put(e.m, p, &file{Type: typeLink, Link: to})
	case "delete":
		e.w.remove(e.m, p)
	case "renew":
		return e.renew(p, f)
	case "trust":
		return e.trust(p, f)
	default:
		return fmt.Errorf("unknown action %q on a file; set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust", w[1])
	}
	return nil
}

// arg sets or removes a flag of a static pod's command.
func (e *edit) arg(p string, set bool) error {
	name, value := e.rest, ""
	if set {
		var err error
		if name, value, err = e.pair("NAME=VALUE"); err != nil {
			return err
		}
	}
	e.rest = ""
	found := false
	err := e.changeYAML(p, func(v state.Value) (state.Value, error) {
		containers := v.Get("spec.containers").AsList()
		if len(containers) == 0 {
			return v, errors.New("it is no pod with a container")
		}
		var command []string
		for _, word := range containers[0].Get("command").AsList() {
			n, _, _ := strings.Cut(strings.TrimPrefix(word.AsString(), "--"), "=")
			switch {
			case n != name:
				command = append(command, word.AsString())
			case set && !found:
				command = append(command, "--"+name+"="+value)
			}
			found = found || n == name
		}
		if set && !found {
			command = append(command, "--"+name+"="+value)
		}
		containers = slices.Clone(containers)
		containers[0] = with(containers[0], state.Strings(command...), "command")
		return with(v, state.List(containers...), "spec", "containers"), nil
	})
	if err == nil && !set && !found {
		return fmt.Errorf("%s has no flag %q", p, name)
	}
	return err
}

// changeYAML changes a file's tree.
func (e *edit) changeYAML(p string, change func(state.Value) (state.Value, error)) error {
	f := e.w.get(e.m, p)
	if !f.isRegular() {
		return fmt.Errorf("%s does not exist", p)
	}
	tree, err := parseYAML(e.w.content(f))
	if err != nil {
		return fmt.Errorf("%s is no YAML: %w", p, err)
	}
	v, err := change(state.FromGo(tree))
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return err
	}
	content, err := yaml.JSONToYAML(asJSON)
	if err != nil {
		return err
	}
	e.w.put(e.m, p, e.w.contentFile(content, f.mode(), f.owner()))
	return nil
}

func (e *edit) yaml() error {
	w, err := e.words("a path", "set or unset")
	if err != nil {
		return err
	}
	change, err := e.fieldChange(w[1])
	if err != nil {
		return err
	}
	return e.changeYAML(clean(w[0]), change)
}

// fieldChange reads FIELD=VALUE, or FIELD for unset.
func (e *edit) fieldChange(action string) (func(state.Value) (state.Value, error), error) {
	switch action {
	case "set":
		field, text, err := e.pair("FIELD=VALUE")
		if err != nil {
			return nil, err
		}
		return func(v state.Value) (state.Value, error) {
			return with(v, literal(text), state.SplitPath(field)...), nil
		}, nil
	case "unset":
		field := e.rest
		e.rest = ""
		return func(v state.Value) (state.Value, error) {
			keys := state.SplitPath(field)
			if len(keys) == 0 || v.Get(field).IsNull() {
				return v, fmt.Errorf("it has no field %q", field)
			}
			gone := state.Null()
			for _, key := range slices.Backward(keys) {
				gone = state.Map(map[string]state.Value{key: gone})
			}
			return without(v, gone), nil
		}, nil
	}
	return nil, fmt.Errorf("unknown action %q; set or unset", action)
}

// literal returns a value as YAML would read it.
func literal(text string) state.Value {
	tree, err := parseYAML([]byte("v: " + text))
	if err != nil {
		return state.String(text)
	}
	return state.FromGo(tree["v"])
}
