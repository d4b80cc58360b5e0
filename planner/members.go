package planner

import (
	"slices"
	"strings"
)

// AddsMember reports whether the step adds a member to etcd.
func AddsMember(step *Step) bool {
	return slices.ContainsFunc(step.Operations, func(op Operation) bool {
		_, adds := op.(AddEtcdMember)
		return adds
	})
}

// RemovedMember returns the peer URL of the member that the step removes, or "" when it removes
// none.
func RemovedMember(step *Step) string {
	for _, op := range step.Operations {
		if remove, ok := op.(RemoveEtcdMember); ok {
			return remove.PeerURL
		}
	}
	return ""
}

// ChangesMembers reports whether the step adds a member to etcd or removes one.
func ChangesMembers(step *Step) bool { return AddsMember(step) || RemovedMember(step) != "" }

// RestartsMember reports whether the step restarts etcd on its node: it writes its
// manifest, waits for another etcd pod to run there, or ends its process.
func RestartsMember(step *Step) bool { return restarts(step, "etcd") }

// RestartsServer reports whether the step restarts the API server on its node in one of these ways.
func RestartsServer(step *Step) bool { return restarts(step, "kube-apiserver") }

func restarts(step *Step, component string) bool {
	return slices.ContainsFunc(step.Operations, func(op Operation) bool {
		switch op := op.(type) {
		case Wait:
			return op.For == WaitStaticPod && strings.HasPrefix(op.Name, component+"-")
		case WriteFile:
			return strings.HasSuffix(op.Path, "/manifests/"+component+".yaml")
		case RestartProcess:
			return op.Process.Name == component
		}
		return false
	})
}

// StopsServing reports whether the operation at the given place of a step stops etcd or the API
// server on the step's node: it removes their manifest, ends their process, or overwrites the
// manifest of etcd. A component whose manifest the step has removed before is already stopped.
func StopsServing(step *Step, place int) bool {
	switch op := step.Operations[place].(type) {
	case RestartProcess:
		return op.Process.Name == "etcd" || op.Process.Name == "kube-apiserver"
	case RemovePath:
		return Serves(op.Path)
	case WriteFile:
		return isEtcds(op.Path) && !slices.ContainsFunc(step.Operations[:place], func(before Operation) bool {
			r, ok := before.(RemovePath)
			return ok && r.Path == op.Path
		})
	}
	return false
}

// StopsMember reports whether an operation of a step that restarts the etcd member stops it. Of
// several such operations the first one does.
func StopsMember(op Operation) bool {
	switch op := op.(type) {
	case RestartProcess:
		return op.Process.Name == "etcd"
	case RemovePath:
		return isEtcds(op.Path)
	case WriteFile:
		return isEtcds(op.Path)
	}
	return false
}

// Serves reports whether path is the manifest of etcd or of the API server.
func Serves(path string) bool {
	return isEtcds(path) || strings.HasSuffix(path, "/manifests/kube-apiserver.yaml")
}

func isEtcds(path string) bool { return strings.HasSuffix(path, "/manifests/etcd.yaml") }
