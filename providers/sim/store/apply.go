package store

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Merge returns live with the leaves of wanted, and without leaves that are in before but
// not in wanted.
func Merge(live, before, wanted state.Value) state.Value {
	switch {
	case wanted.Kind() == state.KindMap && (live.IsNull() || live.Kind() == state.KindMap):
		return mergeMap(live, before, wanted)
	case wanted.Kind() == state.KindList && live.Kind() == state.KindList:
		if key := mergeKey(wanted, live); key != "" {
			return mergeList(key, live, before, wanted)
		}
	}
	return wanted
}

func mergeMap(live, before, wanted state.Value) state.Value {
	out := map[string]state.Value{}
	maps.Copy(out, live.AsMap())
	for key, old := range before.AsMap() {
		if _, kept := wanted.AsMap()[key]; kept {
			continue
		}
		if rest := Without(out[key], old); rest.IsNull() {
			delete(out, key)
		} else {
			out[key] = rest
		}
	}
	for key, v := range wanted.AsMap() {
		out[key] = Merge(out[key], before.AsMap()[key], v)
	}
	return state.Map(out)
}

// Without returns live without the leaves of gone, and without its elements in lists that
// the API merges; null if nothing is left.
func Without(live, gone state.Value) state.Value {
	if live.Kind() == state.KindList && gone.Kind() == state.KindList && mergeKey(gone, live) != "" {
		rest := mergeList(mergeKey(gone, live), live, gone, state.Value{})
		if len(rest.AsList()) == 0 {
			return state.Value{}
		}
		return rest
	}
	if live.Kind() != state.KindMap || gone.Kind() != state.KindMap {
		return state.Value{}
	}
	out := maps.Clone(live.AsMap())
	for key, v := range gone.AsMap() {
		if rest := Without(out[key], v); rest.IsNull() {
			delete(out, key)
		} else {
			out[key] = rest
		}
	}
	if len(out) == 0 {
		return state.Value{}
	}
	return state.Map(out)
}

// mergeKey returns the field by which the API merges the elements of a list, or "" for a
// list that is replaced as a whole.
func mergeKey(lists ...state.Value) string {
	for _, key := range []string{"mountPath", "name", "uid"} {
		all := true
		for _, list := range lists {
			for _, e := range list.AsList() {
				all = all && e.Kind() == state.KindMap && e.Get(key).AsString() != "" && e.Get("kind").IsNull()
			}
		}
		if all && len(lists[0].AsList()) > 0 {
			return key
		}
	}
	return ""
}

func mergeList(key string, live, before, wanted state.Value) state.Value {
	find := func(list state.Value, name string) state.Value {
		for _, e := range list.AsList() {
			if e.Get(key).AsString() == name {
				return e
			}
		}
		return state.Value{}
	}
	var out []state.Value
	for _, e := range wanted.AsList() {
		name := e.Get(key).AsString()
		out = append(out, Merge(find(live, name), find(before, name), e))
	}
	for _, e := range live.AsList() {
		name := e.Get(key).AsString()
		if find(wanted, name).IsNull() && find(before, name).IsNull() {
			out = append(out, e)
		}
	}
	return state.List(out...)
}

// With returns a value with another leaf at a path of map keys.
func With(v state.Value, leaf state.Value, path ...string) state.Value {
	if len(path) == 0 {
		return leaf
	}
	out := map[string]state.Value{}
	maps.Copy(out, v.AsMap())
	out[path[0]] = With(out[path[0]], leaf, path[1:]...)
	return state.Map(out)
}

// WithDefault returns a value with a leaf at a path, unless that is set already.
func WithDefault(v state.Value, leaf any, path ...string) state.Value {
	at := v
	for _, key := range path {
		at = at.AsMap()[key]
	}
	if !at.IsNull() {
		return v
	}
	return With(v, state.FromGo(leaf), path...)
}

// WorkloadDefaults adds the defaults of a Deployment, DaemonSet or StatefulSet.
func WorkloadDefaults(kind string, v state.Value) state.Value {
	v = WithDefault(v, 10, "spec", "revisionHistoryLimit")
	v = WithDefault(v, "1", "metadata", "annotations", "deployment.kubernetes.io/revision")
	switch kind {
	case "Deployment":
		v = WithDefault(v, 1, "spec", "replicas")
		v = WithDefault(v, 600, "spec", "progressDeadlineSeconds")
		v = WithDefault(v, "RollingUpdate", "spec", "strategy", "type")
		v = WithDefault(v, "25%", "spec", "strategy", "rollingUpdate", "maxSurge")
		replicas := v.Get("spec.replicas")
		for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas"} {
			v = With(v, replicas, "status", field)
		}
	case "DaemonSet":
		v = WithDefault(v, "RollingUpdate", "spec", "updateStrategy", "type")
		v = WithDefault(v, 0, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
	}
	pod := v.Get("spec.template.spec")
	pod = WithDefault(pod, "ClusterFirst", "dnsPolicy")
	pod = WithDefault(pod, "Always", "restartPolicy")
	pod = WithDefault(pod, "default-scheduler", "schedulerName")
	pod = WithDefault(pod, 30, "terminationGracePeriodSeconds")
	pod = WithDefault(pod, map[string]any{}, "securityContext")
	if sa := pod.Get("serviceAccountName"); !sa.IsNull() {
		pod = WithDefault(pod, sa, "serviceAccount")
	}
	for _, list := range []string{"containers", "initContainers"} {
		pod = containerDefaults(pod, list)
	}
	return With(v, pod, "spec", "template", "spec")
}

func containerDefaults(pod state.Value, list string) state.Value {
	var out []state.Value
	for _, e := range pod.Get(list).AsList() {
		e = WithDefault(e, "/dev/termination-log", "terminationMessagePath")
		e = WithDefault(e, "File", "terminationMessagePolicy")
		e = WithDefault(e, "IfNotPresent", "imagePullPolicy")
		for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			if !e.Get(probe).IsNull() {
				e = WithDefault(e, 10, probe, "periodSeconds")
				e = WithDefault(e, 1, probe, "timeoutSeconds")
				e = WithDefault(e, 3, probe, "failureThreshold")
				e = WithDefault(e, 1, probe, "successThreshold")
			}
		}
		out = append(out, e)
	}
	if out == nil {
		return pod
	}
	return With(pod, state.List(out...), list)
}

// BindingDefaults adds the defaults of a RoleBinding or ClusterRoleBinding.
func BindingDefaults(v state.Value) state.Value {
	v = WithDefault(v, "rbac.authorization.k8s.io", "roleRef", "apiGroup")
	subjects := slices.Clone(v.Get("subjects").AsList())
	for i, s := range subjects {
		if kind := s.Get("kind").AsString(); kind == "User" || kind == "Group" {
			subjects[i] = WithDefault(s, "rbac.authorization.k8s.io", "apiGroup")
		}
	}
	if len(subjects) == 0 {
		return v
	}
	return With(v, state.List(subjects...), "subjects")
}
