package kube_test

import (
	"encoding/base64"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

const (
	secretsPath = "/api/v1/namespaces/kube-system/secrets/"
	tokenPath   = secretsPath + "bootstrap-token-abcdef"
	nodePath    = "/api/v1/nodes/w1"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// secretOf returns a Secret of kube-system.
func secretOf(name, kind string, data object) object {
	return object{"kind": "Secret", "apiVersion": "v1", "metadata": object{"name": name, "namespace": "kube-system"}, "type": kind, "data": data}
}

// TestTokenUpdateKeepsSecret checks that a token with a given ID keeps its second half on update.
func TestTokenUpdateKeepsSecret(t *testing.T) {
	t.Parallel()
	s, _, client := stored(t)
	s.put(tokenPath, secretOf("bootstrap-token-abcdef", "bootstrap.kubernetes.io/token", object{"token-secret": encoded("0123456789abcdef")}))
	got, err := client.CreateToken(t.Context(), planner.CreateToken{ID: "abcdef", TTL: time.Hour}, state.Secret{})
	if err != nil || string(got.Reveal()) != "abcdef.0123456789abcdef" {
		t.Errorf("got %s, %v", got.Reveal(), err)
	}
	if kept := s.objects[tokenPath]["data"].(object)["token-secret"]; kept != encoded("0123456789abcdef") {
		t.Errorf("kept is %s", kept)
	}
}

// TestConcurrentChangeIsNotOverwritten checks that an object that another client has changed since the read
// is not overwritten, and that the error allows a retry.
func TestConcurrentChangeIsNotOverwritten(t *testing.T) {
	t.Parallel()
	node := func(label string) object {
		return object{
			"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "w1", "labels": object{"by": label}},
			"spec": object{"taints": []any{object{"key": label, "effect": "NoSchedule"}}},
		}
	}
	token := func(by string) object {
		return secretOf("bootstrap-token-abcdef", "bootstrap.kubernetes.io/token", object{"description": encoded(by)})
	}
	certs := func(by string) object { return secretOf("kubeadm-certs", "Opaque", object{"by": encoded(by)}) }
	for name, c := range map[string]struct {
		path string
		of   func(by string) object
		do   func(*testing.T, providers.API) error
		// behind reports whether other objects are written first.
		behind bool
	}{
		"taints": {path: nodePath, of: node, do: func(t *testing.T, client providers.API) error {
			return client.PatchNode(t.Context(), planner.PatchNode{Node: "w1", Taints: []state.Taint{{Key: "mine", Effect: "NoSchedule"}}}, nil)
		}},
		"labels of a node that is read first": {path: nodePath, of: node, do: func(t *testing.T, client providers.API) error {
			return client.PatchNode(t.Context(), planner.PatchNode{Node: "w1", Labels: map[string]string{"by": "mine"}}, func(state.NodeReport) error { return nil })
		}},
		"cordon": {path: nodePath, of: node, do: func(t *testing.T, client providers.API) error {
			return client.Cordon(t.Context(), planner.Cordon{Node: "w1", For: "upgrade"})
		}},
		"token": {path: tokenPath, of: token, do: func(t *testing.T, client providers.API) error {
			_, err := client.CreateToken(t.Context(), planner.CreateToken{ID: "abcdef", TTL: time.Hour}, state.Secret{})
			return err
		}},
		"certificates": {path: secretsPath + "kubeadm-certs", of: certs, behind: true, do: func(t *testing.T, client providers.API) error {
			_, err := client.UploadCerts(t.Context(), planner.UploadCerts{TTL: time.Hour}, nil, state.Secret{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, client := stored(t)
			s.put(c.path, c.of("before"))
			var theirs object
			overtake := func() { theirs = s.put(c.path, c.of("theirs")) }
			s.overtake = overtake
			if c.behind { // the token that owns the certificates is made first
				s.overtake = func() { s.overtake = overtake }
			}
			if err := c.do(t, client); !errors.Is(err, providers.ErrUnavailable) {
				t.Errorf("error = %v", err)
			}
			if theirs == nil || !reflect.DeepEqual(s.objects[c.path], theirs) {
				t.Errorf("kept is %v, want %v", s.objects[c.path], theirs)
			}
			if err := c.do(t, client); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

// TestNodePatchKeepsOtherTaints checks that the patch has the desired effect on the server:
// removed taints are gone, and those of other clients stay.
func TestNodePatchKeepsOtherTaints(t *testing.T) {
	t.Parallel()
	s, _, client := stored(t)
	s.put(nodePath, object{
		"kind": "Node", "apiVersion": "v1", "metadata": object{"name": "w1", "labels": object{"keep": "1", "old": "x"}},
		"spec": object{"taints": []any{object{"key": "others", "effect": "NoExecute"}, object{"key": "mine", "effect": "NoSchedule"}}},
	})
	if err := client.PatchNode(t.Context(), planner.PatchNode{
		Node: "w1", RemoveLabels: []string{"old"}, Labels: map[string]string{"new": "2"},
		Taints: []state.Taint{{Key: "added", Effect: "NoSchedule"}}, RemoveTaints: []state.Taint{{Key: "mine", Effect: "NoSchedule"}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Cordon(t.Context(), planner.Cordon{Node: "w1", For: "upgrade"}); err != nil {
		t.Fatal(err)
	}
	got, err := client.Observe(t.Context(), state.ClusterQuery{})
	if err != nil {
		t.Fatal(err)
	}
	n := got.Nodes["w1"]
	if want := []state.Taint{{Key: "others", Effect: "NoExecute"}, {Key: "added", Effect: "NoSchedule"}}; !reflect.DeepEqual(n.Taints, want) {
		t.Errorf("taints are %v, want %v", n.Taints, want)
	}
	if want := map[string]string{"keep": "1", "new": "2"}; !reflect.DeepEqual(n.Labels, want) {
		t.Errorf("labels are %v, want %v", n.Labels, want)
	}
	if !n.Unschedulable || n.Annotations[planner.CordonAnnotation] != "upgrade" {
		t.Errorf("got %+v", n)
	}
}
