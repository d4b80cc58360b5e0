package kube_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubewright/kubewright/providers/kube"
)

// store keeps objects as an API server does: every write makes a new version, and a write
// with a version or UID as precondition is refused with 409 if the object has another.
type store struct {
	objects map[string]object // by path
	version int
	// overtake is called once, before the next write.
	overtake func()
	// refuse is the path of a Service whose address is allocated.
	refuse string
}

// stored starts a server with a store.
func stored(t *testing.T) (*store, *api, *kube.API) {
	t.Helper()
	s := &store{objects: map[string]object{}}
	var a *api
	a, h := start(t, func(_, method, at string, body []byte) answer { return s.answer(method, at, a.contentType, body) })
	return s, a, open(t, h)
}

// plain returns an object as JSON has it.
func plain(o any) object {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	out := object{}
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func metadata(o object) object { return o["metadata"].(object) }

// put stores an object at a path, as its next version.
func (s *store) put(at string, o object) object {
	s.version++
	o = plain(o)
	metadata(o)["resourceVersion"] = strconv.Itoa(s.version)
	if metadata(o)["uid"] == nil {
		metadata(o)["uid"] = "uid-" + strconv.Itoa(s.version)
	}
	s.objects[at] = o
	return o
}

func (s *store) answer(method, at, contentType string, body []byte) answer {
	if do := s.overtake; method != "GET" && do != nil {
		s.overtake = nil
		do()
	}
	there := s.objects[at]
	switch {
	case at == "/version":
		return answer{200, object{"gitVersion": "v1.36.3"}}
	case method == "GET" && there == nil && kinds[path.Base(at)] != "":
		return s.list(at)
	case method == "PATCH" && at == s.refuse:
		return answer{422, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": "provided IP is already allocated"}}
	case method == "POST":
		return s.create(at, body)
	case there == nil:
		return status(404, "NotFound")
	case method == "GET":
		return answer{200, there}
	case method == "PUT":
		return s.update(at, decodedObject(body))
	case method == "PATCH":
		return s.patch(at, types.PatchType(contentType), body)
	}
	return s.remove(at, body)
}

// decodedObject returns the object in a body, whatever its encoding; nil if there is none.
func decodedObject(body []byte) object {
	o, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	out := plain(o)
	out["apiVersion"], out["kind"] = kind.GroupVersion().String(), kind.Kind
	return out
}

func (s *store) create(at string, body []byte) answer {
	o := decodedObject(body)
	if o == nil || metadata(o)["resourceVersion"] != nil {
		return status(400, "BadRequest")
	}
	at = fmt.Sprintf("%s/%s", at, metadata(o)["name"])
	if s.objects[at] != nil {
		return status(409, "AlreadyExists")
	}
	return answer{201, s.put(at, o)}
}

func (s *store) update(at string, o object) answer {
	if o == nil {
		return status(400, "BadRequest")
	}
	for _, field := range []string{"resourceVersion", "uid"} { // without one an update overwrites
		if v := metadata(o)[field]; v != nil && v != metadata(s.objects[at])[field] {
			return status(409, "Conflict")
		}
	}
	metadata(o)["uid"] = metadata(s.objects[at])["uid"]
	return answer{200, s.put(at, o)}
}

// patch changes a node.
func (s *store) patch(at string, how types.PatchType, body []byte) answer {
	var change object
	if json.Unmarshal(body, &change) != nil {
		return status(400, "BadRequest")
	}
	switch how {
	case types.MergePatchType:
		return s.update(at, merged(s.objects[at], change).(object))
	case types.StrategicMergePatchType:
		out, err := strategicpatch.StrategicMergeMapPatch(plain(s.objects[at]), change, corev1.Node{})
		if err != nil {
			return status(400, "BadRequest")
		}
		return s.update(at, out)
	}
	return status(415, "UnsupportedMediaType")
}

// merged returns a document after a JSON merge patch (RFC 7386).
func merged(there, change any) any {
	fields, is := change.(object)
	if !is {
		return change
	}
	out, is := there.(object)
	if !is {
		out = object{}
	}
	out = maps.Clone(out)
	for name, v := range fields {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = merged(out[name], v)
	}
	return out
}

func (s *store) remove(at string, body []byte) answer {
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	options, is := o.(*metav1.DeleteOptions)
	if len(body) > 0 && (err != nil || !is) {
		return status(400, "BadRequest")
	}
	if is && options.Preconditions != nil {
		p, now := options.Preconditions, metadata(s.objects[at])
		if p.ResourceVersion != nil && *p.ResourceVersion != now["resourceVersion"] || p.UID != nil && string(*p.UID) != now["uid"] {
			return status(409, "Conflict")
		}
	}
	delete(s.objects, at)
	return answer{200, object{"kind": "Status", "apiVersion": "v1", "status": "Success"}}
}

// kinds are the kinds of the lists of a store, by resource.
var kinds = map[string]string{
	"nodes": "Node", "pods": "Pod", "secrets": "Secret", "namespaces": "Namespace", "configmaps": "ConfigMap", "services": "Service",
}

// list has the objects of a resource, of one namespace or of all, ordered by path.
func (s *store) list(at string) answer {
	items := []any{}
	for _, p := range slices.Sorted(maps.Keys(s.objects)) {
		of := path.Dir(p)
		before, rest, namespaced := strings.Cut(of, "/namespaces/")
		if of == at || namespaced && !strings.Contains(at, "/namespaces/") && before+"/"+path.Base(rest) == at {
			items = append(items, s.objects[p])
		}
	}
	return list(kinds[path.Base(at)], "v1", items)
}
