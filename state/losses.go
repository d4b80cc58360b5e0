package state

import "slices"

// Losses is what ends with a cluster that is destroyed as a whole. Static pods are the cluster
// itself, and pods that have run to completion end nothing: neither is counted.
type Losses struct {
	// Pods counts the pods that have a controller, by namespace.
	Pods map[string]int `json:"pods,omitempty"`
	// Alone are the pods without a controller, as NAMESPACE/NAME.
	Alone Named `json:"pods_without_controller,omitzero"`
	// EmptyDirs counts the pods with an emptyDir volume.
	EmptyDirs int `json:"pods_with_emptydir,omitempty"`
	// Volumes are the bound PersistentVolumes that only one host has, as NAME (CLAIM, NODE).
	Volumes Named `json:"local_volumes,omitzero"`
}

// LostPod is a pod in the count of losses.
type LostPod struct {
	Namespace, Name string
	// Controlled reports whether a controller has created it, EmptyDir whether it has a volume that
	// is deleted with it.
	Controlled, EmptyDir bool
}

// Add counts a pod.
func (l *Losses) Add(p LostPod) {
	if p.EmptyDir {
		l.EmptyDirs++
	}
	if !p.Controlled {
		l.Alone.Add(p.Namespace + "/" + p.Name)
		return
	}
	if l.Pods == nil {
		l.Pods = map[string]int{}
	}
	l.Pods[p.Namespace]++
}

// AddVolume counts a volume.
func (l *Losses) AddVolume(c ClaimReport) {
	text := c.Volume + " (" + c.String()
	if c.Node != "" {
		text += ", " + c.Node
	}
	l.Volumes.Add(text + ")")
}

// IsZero reports whether nothing is lost.
func (l Losses) IsZero() bool {
	return len(l.Pods) == 0 && l.Alone.Count == 0 && l.EmptyDirs == 0 && l.Volumes.Count == 0
}

// MostNamed is how many names are kept of a Named.
const MostNamed = 8

// Named counts things, and has the names of the first of them in alphabetical order.
type Named struct {
	Count int      `json:"count"`
	First []string `json:"first"`
}

// Add counts a thing by its name.
func (n *Named) Add(name string) {
	n.Count++
	i, _ := slices.BinarySearch(n.First, name)
	if i == MostNamed {
		return
	}
	n.First = slices.Insert(n.First, i, name)
	n.First = n.First[:min(len(n.First), MostNamed)]
}
