package apiserver

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// NewToken creates a bootstrap token's Secret, or updates it. half is its second half; ""
// keeps the existing one, or generates one.
func (a API) NewToken(op planner.CreateToken, half string) string {
	a.c.Made++
	n := fmt.Sprint(a.c.Made)
	id, secret := a.servers.Derive(6, "token id", a.c.ID, n), a.servers.Derive(16, "token secret", a.c.ID, n)
	if op.ID != "" {
		id = op.ID
		if o := a.c.Objects[store.TokenPrefix+id]; o != nil && o.TokenField("token-secret") != "" {
			secret = o.TokenField("token-secret")
		}
	}
	if half != "" {
		secret = half
	}
	data := map[string]string{"token-id": id, "token-secret": secret}
	if op.Description != "" {
		data["description"] = op.Description
	}
	switch {
	case op.TTL > 0:
		data["expiration"] = machine.Timestamp(a.servers.Now.Add(op.TTL))
	case op.Expires != "":
		data["expiration"] = op.Expires
	}
	for _, usage := range op.Usages {
		data["usage-bootstrap-"+usage] = "true"
	}
	if len(op.Groups) > 0 {
		data["auth-extra-groups"] = strings.Join(op.Groups, ",")
	}
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	a.c.Objects[store.TokenPrefix+id] = &store.Object{Live: state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token", "data": encoded,
		"metadata": map[string]any{
			"name": "bootstrap-token-" + id, "namespace": "kube-system", "uid": a.newUID(), "creationTimestamp": machine.Timestamp(a.servers.Now),
		},
	})}
	a.encrypt(a.c.Objects[store.TokenPrefix+id])
	return id + "." + secret
}

// tokenUser authenticates a bootstrap token.
func (a API) tokenUser(token string) (string, []string, error) {
	id, secret, _ := strings.Cut(token, ".")
	o := a.c.Objects[store.TokenPrefix+id]
	if o == nil || o.TokenField("token-secret") != secret || o.TokenField("usage-bootstrap-authentication") != "true" || a.servers.expired(o) {
		return "", nil, errors.New("unauthorized: the bootstrap token is not valid")
	}
	groups := []string{"system:bootstrappers"}
	if extra := o.TokenField("auth-extra-groups"); extra != "" {
		groups = append(groups, strings.Split(extra, ",")...)
	}
	slices.Sort(groups)
	return "system:bootstrap:" + id, groups, nil
}

func (s *Servers) expired(o *store.Object) bool {
	expires, err := time.Parse(time.RFC3339, o.TokenField("expiration"))
	return err == nil && !s.Now.Before(expires)
}

// ExpireTokens deletes expired tokens, as the token cleaner does.
func (a API) ExpireTokens() {
	for _, key := range a.c.Keys(store.TokenPrefix) {
		if a.servers.expired(a.c.Objects[key]) {
			a.c.CollectGarbage(a.c.Objects[key].Live.Get("metadata.uid").AsString())
			delete(a.c.Objects, key)
		}
	}
}

// UploadCerts keeps a record of encrypted files, and a token that owns it.
func (a API) UploadCerts(op planner.UploadCerts, files map[string]state.Secret, key string) string {
	if key == "" {
		key = a.servers.Derive(64, "certificate key", a.c.ID, fmt.Sprint(a.c.Made))
	}
	id, _, _ := strings.Cut(a.NewToken(planner.CreateToken{TTL: op.TTL, Description: "Proxy for managing TTL for the kubeadm-certs secret"}, ""), ".")
	owner := a.c.Objects[store.TokenPrefix+id].Live.Get("metadata")
	data := map[string]any{}
	for name, content := range files {
		data[name] = ""
		if !content.IsZero() {
			data[name] = base64.StdEncoding.EncodeToString([]byte("encrypted " + a.servers.Derive(8, key, string(content.Reveal()))))
		}
	}
	a.c.Objects["v1/Secret/kube-system/kubeadm-certs"] = &store.Object{Live: state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
		"metadata": map[string]any{
			"name": "kubeadm-certs", "namespace": "kube-system", "uid": a.newUID(), "creationTimestamp": machine.Timestamp(a.servers.Now),
			"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "Secret", "name": owner.Get("name").AsString(), "uid": owner.Get("uid").AsString(),
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
	})}
	a.encrypt(a.c.Objects["v1/Secret/kube-system/kubeadm-certs"])
	return key
}

// DeleteJoinTokens deletes the tokens that were created for joins.
func (a API) DeleteJoinTokens(keep []string) error {
	for _, id := range a.c.JoinTokens() {
		if !slices.Contains(keep, id) {
			a.c.CollectGarbage(a.c.Objects[store.TokenPrefix+id].Live.Get("metadata.uid").AsString())
			delete(a.c.Objects, store.TokenPrefix+id)
		}
	}
	return nil
}

// DeleteToken deletes a token's Secret.
func (a API) DeleteToken(id string) { delete(a.c.Objects, store.TokenPrefix+id) }
