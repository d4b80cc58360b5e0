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

// tokenField is a key of a bootstrap token's Secret.
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

// newToken makes a bootstrap token's Secret.
func (w *World) newToken(c *cluster, op planner.CreateToken) string {
	c.Made++
	n := fmt.Sprint(c.Made)
	id, secret := w.derive(6, "token id", c.ID, n), w.derive(16, "token secret", c.ID, n)
	data := map[string]string{"token-id": id, "token-secret": secret}
	if op.Description != "" {
		data["description"] = op.Description
	}
	if op.TTL > 0 {
		data["expiration"] = stamp(w.d.Now.Add(op.TTL))
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
			delete(c.Objects, key)
		}
	}
}
