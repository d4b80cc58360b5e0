package kubeadm

import (
	"slices"
	"strings"
)

// defaultPod fills a pod's tree with the API's defaults for pods (core/v1), as far as static pods
// use them, and moves fields to their place in the kubelet's internal types. It returns false if
// the pod has fields whose defaults are unknown here.
func defaultPod(pod map[string]any, minor int) bool {
	spec, ok := pod["spec"].(map[string]any)
	if !ok || len(at[map[string]any](pod, "status")) > 0 {
		return false
	}
	delete(pod, "status")
	for _, key := range []string{"resources", "overhead", "affinity", "ephemeralContainers", "resourceClaims", "serviceAccount"} {
		if spec[key] != nil {
			return false
		}
	}
	setMissing(spec, map[string]any{
		"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": map[string]any{},
		"terminationGracePeriodSeconds": 30.0, "schedulerName": "default-scheduler", "enableServiceLinks": true,
	})
	for _, v := range listOf(spec, "volumes") {
		if !defaultVolume(v) {
			return false
		}
	}
	for _, key := range []string{"initContainers", "containers"} {
		for _, c := range listOf(spec, key) {
			defaultContainer(c, spec["hostNetwork"] == true)
		}
	}
	if minor <= 36 {
		hostFields(spec)
	}
	return true
}

// hostFields moves fields that the kubelet kept in the pod's security context until 1.36.
func hostFields(spec map[string]any) {
	security, ok := spec["securityContext"].(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"} {
		if v, ok := spec[key]; ok {
			security[key] = v
			delete(spec, key)
		}
	}
}

// defaultVolume sets the defaults of a volume; it knows hostPath and emptyDir.
func defaultVolume(v map[string]any) bool {
	sources := 0
	for key := range v {
		switch key {
		case "name":
		case "hostPath", "emptyDir":
			sources++
		default:
			return false
		}
	}
	if sources == 0 {
		v["emptyDir"] = map[string]any{}
	}
	if path, ok := v["hostPath"].(map[string]any); ok {
		if _, typed := path["type"]; !typed {
			path["type"] = ""
		}
	}
	return true
}

func defaultContainer(c map[string]any, hostNetwork bool) {
	image, _ := c["image"].(string)
	policy := "IfNotPresent"
	if latest(image) {
		policy = "Always"
	}
	setMissing(c, map[string]any{
		"imagePullPolicy": policy, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	})
	if resources, ok := c["resources"].(map[string]any); ok {
		defaultRequests(resources)
	}
	for _, p := range listOf(c, "ports") {
		setMissing(p, map[string]any{"protocol": "TCP"})
		if hostNetwork {
			setMissing(p, map[string]any{"hostPort": p["containerPort"]})
		}
	}
	for _, e := range listOf(c, "env") {
		if field := at[map[string]any](e, "valueFrom", "fieldRef"); field != nil {
			setMissing(field, map[string]any{"apiVersion": "v1"})
		}
	}
	for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p, ok := c[key].(map[string]any); ok {
			setMissing(p, map[string]any{"timeoutSeconds": 1.0, "periodSeconds": 10.0, "successThreshold": 1.0, "failureThreshold": 3.0})
			defaultGet(p)
		}
	}
	for _, hook := range []string{"postStart", "preStop"} {
		if h := at[map[string]any](c, "lifecycle", hook); h != nil {
			defaultGet(h)
		}
	}
}

func defaultGet(handler map[string]any) {
	if get, ok := handler["httpGet"].(map[string]any); ok {
		setMissing(get, map[string]any{"path": "/", "scheme": "HTTP"})
	}
}

// defaultRequests sets missing requests to the limits.
func defaultRequests(resources map[string]any) {
	limits, ok := resources["limits"].(map[string]any)
	if !ok {
		return
	}
	requests, ok := resources["requests"].(map[string]any)
	if !ok {
		requests = map[string]any{}
		resources["requests"] = requests
	}
	setMissing(requests, limits)
}

// latest reports whether an image has the tag latest, or neither tag nor digest.
func latest(image string) bool {
	name := image[strings.LastIndex(image, "/")+1:]
	if strings.Contains(name, "@") {
		return false
	}
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}

// setMissing sets fields that are absent or have the zero value of their type, which the API treats
// as absent if the field is no pointer.
func setMissing(m, defaults map[string]any) {
	for k, v := range defaults {
		if old, ok := m[k]; !ok || old == "" || old == 0.0 && !pointers[k] {
			m[k] = v
		}
	}
}

// pointers are numeric fields whose zero is a value.
var pointers = map[string]bool{"terminationGracePeriodSeconds": true}

// listOf returns the maps in a list.
func listOf(m map[string]any, key string) []map[string]any {
	var out []map[string]any
	for _, e := range at[[]any](m, key) {
		if one, ok := e.(map[string]any); ok {
			out = append(out, one)
		}
	}
	return out
}

// at walks maps to a value; a missing value, or one of another type, is the zero value.
func at[T any](m map[string]any, keys ...string) T {
	last := len(keys) - 1
	for _, k := range keys[:last] {
		m, _ = m[k].(map[string]any)
	}
	v, _ := m[keys[last]].(T)
	return v
}

// dropNulls removes null fields, which decoding leaves unset.
func dropNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = dropNulls(e)
			}
		}
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = dropNulls(v[i])
		}
		return v
	}
	return v
}
