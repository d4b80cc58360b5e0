package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Node is a Node object, without the parts that follow from its host.
type Node struct {
	Host          string            `json:"host,omitempty"`
	UID           string            `json:"uid"`
	Created       time.Time         `json:"created"`
	ReadyAt       time.Time         `json:"ready_at"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []state.Taint     `json:"taints,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Kubelet       string            `json:"kubelet,omitempty"` // its version
	// Rested reports whether the world was opened since the kubelet was started. The
	// world's time stands still between two commands, in which a real kubelet would become
	// ready.
	Rested bool `json:"-"`
}

// ParseTaint reads key=value:effect or key:effect.
func ParseTaint(s string) (state.Taint, error) {
	pair, effect, ok := strings.Cut(s, ":")
	key, value, _ := strings.Cut(pair, "=")
	if !ok || key == "" {
		return state.Taint{}, fmt.Errorf("cannot read taint %q: it is written KEY=VALUE:EFFECT", s)
	}
	return state.Taint{Key: key, Value: value, Effect: effect}, nil
}

// Patch sets and removes labels, annotations and taints.
func (n *Node) Patch(labels, annotations map[string]string, noLabels, noAnnotations []string, taints, noTaints []state.Taint) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	maps.Copy(n.Labels, labels)
	maps.Copy(n.Annotations, annotations)
	for _, key := range noLabels {
		delete(n.Labels, key)
	}
	for _, key := range noAnnotations {
		delete(n.Annotations, key)
	}
	for _, t := range slices.Concat(noTaints, taints) {
		n.Taints = slices.DeleteFunc(n.Taints, func(o state.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
	}
	n.Taints = append(n.Taints, taints...)
}

// DeleteNode deletes a Node, with its pods that have no controller to recreate them.
func (d *Data) DeleteNode(name string) {
	delete(d.Nodes, name)
	d.Pods = slices.DeleteFunc(d.Pods, func(p *Pod) bool {
		return p.Node == name && (p.Controller == "" || p.Controller == DaemonSet)
	})
	d.Stale = true
}
