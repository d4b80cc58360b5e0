package sim

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

const tokenPrefix = "v1/Secret/kube-system/bootstrap-token-"

// tokenField returns a key of a bootstrap token's Secret.
func (o *object) tokenField(key string) string {
	if s := o.Live.Get("stringData").Get(state.JoinPath("", key)).AsString(); s != "" {
		return s
	}
	plain, err := base64.StdEncoding.DecodeString(o.Live.Get("data").Get(state.JoinPath("", key)).AsString())
	if err != nil {
		return ""
	}
	return string(plain)
}

// newToken makes a bootstrap token's Secret, or changes it. half is its second
// half; "" keeps what is there, or makes one.
func (w *World) newToken(c *cluster, op planner.CreateToken, half string) string {
	c.Made++
	n := fmt.Sprint(c.Made)
	id, secret := w.derive(6, "token id", c.ID, n), w.derive(16, "token secret", c.ID, n)
	if op.ID != "" {
		id = op.ID
		if o := c.Objects[tokenPrefix+id]; o != nil && o.tokenField("token-secret") != "" {
			secret = o.tokenField("token-secret")
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
		data["expiration"] = stamp(w.d.Now.Add(op.TTL))
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
	c.Objects[tokenPrefix+id] = &object{Live: state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token", "data": encoded,
		"metadata": map[string]any{
			"name": "bootstrap-token-" + id, "namespace": "kube-system", "uid": w.uid(c), "creationTimestamp": stamp(w.d.Now),
		},
	})}
	return id + "." + secret
}

// joinTokens lists the IDs of the tokens that were made for joins, in order.
func (c *cluster) joinTokens() []string {
	var ids []string
	for _, key := range c.kinds(tokenPrefix) {
		if planner.IsJoinToken(c.Objects[key].tokenField("description")) {
			ids = append(ids, strings.TrimPrefix(key, tokenPrefix))
		}
	}
	return ids
}

// tokenUser authenticates a bootstrap token.
func (w *World) tokenUser(c *cluster, token string) (string, []string, error) {
	id, secret, _ := strings.Cut(token, ".")
	o := c.Objects[tokenPrefix+id]
	if o == nil || o.tokenField("token-secret") != secret || o.tokenField("usage-bootstrap-authentication") != "true" || w.expired(o) {
		return "", nil, errors.New("unauthorized: the bootstrap token is not valid")
	}
	groups := []string{"system:bootstrappers"}
	if extra := o.tokenField("auth-extra-groups"); extra != "" {
		groups = append(groups, strings.Split(extra, ",")...)
	}
	slices.Sort(groups)
	return "system:bootstrap:" + id, groups, nil
}

func (w *World) expired(o *object) bool {
	expires, err := time.Parse(time.RFC3339, o.tokenField("expiration"))
	return err == nil && !w.d.Now.Before(expires)
}

// expireTokens deletes tokens whose time is over, as the token cleaner does.
func (w *World) expireTokens(c *cluster) {
	for _, key := range c.kinds(tokenPrefix) {
		if w.expired(c.Objects[key]) {
			c.collect(c.Objects[key].Live.Get("metadata.uid").AsString())
			delete(c.Objects, key)
		}
	}
}

// collect deletes what belongs to an owner that is gone, as the garbage
// collector does.
func (c *cluster) collect(owner string) {
	for key, o := range c.Objects {
		for _, ref := range o.Live.Get("metadata.ownerReferences").AsList() {
			if owner != "" && ref.Get("uid").AsString() == owner {
				delete(c.Objects, key)
			}
		}
	}
}

// uploadCerts keeps a record of encrypted files, and a token that owns it.
func (w *World) uploadCerts(c *cluster, op planner.UploadCerts, files map[string]state.Secret, key string) string {
	if key == "" {
		key = w.derive(64, "certificate key", c.ID, fmt.Sprint(c.Made))
	}
	id, _, _ := strings.Cut(w.newToken(c, planner.CreateToken{TTL: op.TTL, Description: "Proxy for managing TTL for the kubeadm-certs secret"}, ""), ".")
	owner := c.Objects[tokenPrefix+id].Live.Get("metadata")
	data := map[string]any{}
	for name, content := range files {
		data[name] = ""
		if !content.IsZero() {
			data[name] = base64.StdEncoding.EncodeToString([]byte("encrypted " + w.derive(8, key, string(content.Reveal()))))
		}
	}
	c.Objects["v1/Secret/kube-system/kubeadm-certs"] = &object{Live: state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
		"metadata": map[string]any{
			"name": "kubeadm-certs", "namespace": "kube-system", "uid": w.uid(c), "creationTimestamp": stamp(w.d.Now),
			"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "Secret", "name": owner.Get("name").AsString(), "uid": owner.Get("uid").AsString(),
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
	})}
	return key
}
