package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// apply is server-side apply for the field manager kubewright, forced: leaves
// that were applied before and are no longer sent go, all others stay.
func (w *World) apply(c *cluster, ref state.ObjectRef, wanted state.Value) {
	o := c.Objects[ref.String()]
	if o == nil {
		o = &object{Live: state.FromGo(map[string]any{"metadata": map[string]any{
			"uid": w.uid(c), "creationTimestamp": stamp(w.d.Now), "generation": 1,
		}})}
		c.Objects[ref.String()] = o
	}
	if o.Trusts == nil && (ref.Kind == "DaemonSet" || ref.Kind == "Deployment") {
		o.Trusts = w.rootCAs(c)
		w.issueTokens(c, o)
	}
	if o.Token == nil && isTokenSecret(wanted) {
		w.signSecret(o)
	}
	before := o.Live
	o.Live = w.defaults(c, ref, merge(o.Live, o.Applied, wanted))
	o.Applied = wanted
	if !before.Equal(o.Live) {
		w.touch(c, o)
	}
	if !before.Get("spec.template").Equal(o.Live.Get("spec.template")) {
		w.rollProxies(c, ref)
	}
}

// touch gives a changed object a new resourceVersion.
func (w *World) touch(c *cluster, o *object) {
	c.Made++
	o.Live = with(o.Live, state.String(fmt.Sprint(1000+c.Made)), "metadata", "resourceVersion")
}

// merge makes the leaves of wanted so in live, and takes out those of before that wanted has not.
func merge(live, before, wanted state.Value) state.Value {
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
		if rest := without(out[key], old); rest.IsNull() {
			delete(out, key)
		} else {
			out[key] = rest
		}
	}
	for key, v := range wanted.AsMap() {
		out[key] = merge(out[key], before.AsMap()[key], v)
	}
	return state.Map(out)
}

// without takes the leaves of gone out of live, and of a list that the API merges its
// elements; null when nothing is left.
func without(live, gone state.Value) state.Value {
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
		if rest := without(out[key], v); rest.IsNull() {
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

// mergeKey returns the field by which the API merges the elements of a list, or ""
// for a list that is replaced as a whole.
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
		out = append(out, merge(find(live, name), find(before, name), e))
	}
	for _, e := range live.AsList() {
		name := e.Get(key).AsString()
		if find(wanted, name).IsNull() && find(before, name).IsNull() {
			out = append(out, e)
		}
	}
	return state.List(out...)
}

// with sets what stands at a path of map keys.
func with(v state.Value, leaf state.Value, path ...string) state.Value {
	if len(path) == 0 {
		return leaf
	}
	out := map[string]state.Value{}
	maps.Copy(out, v.AsMap())
	out[path[0]] = with(out[path[0]], leaf, path[1:]...)
	return state.Map(out)
}

// usual sets what stands at a path unless something does.
func usual(v state.Value, leaf any, path ...string) state.Value {
	at := v
	for _, key := range path {
		at = at.AsMap()[key]
	}
	if !at.IsNull() {
		return v
	}
	return with(v, state.FromGo(leaf), path...)
}

// defaults adds what the API server and its controllers add.
func (w *World) defaults(c *cluster, ref state.ObjectRef, v state.Value) state.Value {
	switch ref.Kind {
	case "Namespace":
		v = usual(v, ref.Name, "metadata", "labels", "kubernetes.io/metadata.name")
		v = usual(v, []any{"kubernetes"}, "spec", "finalizers")
		return usual(v, "Active", "status", "phase")
	case "Service":
		return w.serviceDefaults(c, ref, v)
	case "Deployment", "DaemonSet", "StatefulSet":
		return workloadDefaults(ref.Kind, v)
	case "ClusterRoleBinding", "RoleBinding":
		return bindingDefaults(v)
	}
	return v
}

func (w *World) serviceDefaults(c *cluster, ref state.ObjectRef, v state.Value) state.Value {
	v = usual(v, "10.96."+fmt.Sprint(1+len(c.Objects)%200)+".7", "spec", "clusterIP")
	v = usual(v, []any{v.Get("spec.clusterIP").AsString()}, "spec", "clusterIPs")
	v = usual(v, "ClusterIP", "spec", "type")
	v = usual(v, "None", "spec", "sessionAffinity")
	v = usual(v, "Cluster", "spec", "internalTrafficPolicy")
	v = usual(v, "SingleStack", "spec", "ipFamilyPolicy")
	v = usual(v, []any{"IPv4"}, "spec", "ipFamilies")
	var ports []state.Value
	for _, p := range v.Get("spec.ports").AsList() {
		p = usual(p, "TCP", "protocol")
		ports = append(ports, usual(p, p.Get("port"), "targetPort"))
	}
	if ports != nil {
		v = with(v, state.List(ports...), "spec", "ports")
	}
	return v
}

func workloadDefaults(kind string, v state.Value) state.Value {
	v = usual(v, 10, "spec", "revisionHistoryLimit")
	v = usual(v, "1", "metadata", "annotations", "deployment.kubernetes.io/revision")
	switch kind {
	case "Deployment":
		v = usual(v, 1, "spec", "replicas")
		v = usual(v, 600, "spec", "progressDeadlineSeconds")
		v = usual(v, "RollingUpdate", "spec", "strategy", "type")
		v = usual(v, "25%", "spec", "strategy", "rollingUpdate", "maxSurge")
		replicas := v.Get("spec.replicas")
		for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas"} {
			v = with(v, replicas, "status", field)
		}
	case "DaemonSet":
		v = usual(v, "RollingUpdate", "spec", "updateStrategy", "type")
		v = usual(v, 0, "spec", "updateStrategy", "rollingUpdate", "maxSurge")
	}
	pod := v.Get("spec.template.spec")
	pod = usual(pod, "ClusterFirst", "dnsPolicy")
	pod = usual(pod, "Always", "restartPolicy")
	pod = usual(pod, "default-scheduler", "schedulerName")
	pod = usual(pod, 30, "terminationGracePeriodSeconds")
	pod = usual(pod, map[string]any{}, "securityContext")
	if sa := pod.Get("serviceAccountName"); !sa.IsNull() {
		pod = usual(pod, sa, "serviceAccount")
	}
	for _, list := range []string{"containers", "initContainers"} {
		pod = containerDefaults(pod, list)
	}
	return with(v, pod, "spec", "template", "spec")
}

func containerDefaults(pod state.Value, list string) state.Value {
	var out []state.Value
	for _, e := range pod.Get(list).AsList() {
		e = usual(e, "/dev/termination-log", "terminationMessagePath")
		e = usual(e, "File", "terminationMessagePolicy")
		e = usual(e, "IfNotPresent", "imagePullPolicy")
		for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			if !e.Get(probe).IsNull() {
				e = usual(e, 10, probe, "periodSeconds")
				e = usual(e, 1, probe, "timeoutSeconds")
				e = usual(e, 3, probe, "failureThreshold")
				e = usual(e, 1, probe, "successThreshold")
			}
		}
		out = append(out, e)
	}
	if out == nil {
		return pod
	}
	return with(pod, state.List(out...), list)
}

func bindingDefaults(v state.Value) state.Value {
	v = usual(v, "rbac.authorization.k8s.io", "roleRef", "apiGroup")
	subjects := slices.Clone(v.Get("subjects").AsList())
	for i, s := range subjects {
		if kind := s.Get("kind").AsString(); kind == "User" || kind == "Group" {
			subjects[i] = usual(s, "rbac.authorization.k8s.io", "apiGroup")
		}
	}
	if len(subjects) == 0 {
		return v
	}
	return with(v, state.List(subjects...), "subjects")
}
