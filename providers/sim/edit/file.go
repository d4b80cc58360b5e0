package edit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
	"sigs.k8s.io/yaml"
)

func (e *edit) file() error {
	w, err := e.words("a path", "set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust")
	if err != nil {
		return err
	}
	p, f := file.Clean(w[0]), e.m.File(file.Clean(w[0]))
	if f == nil && w[1] != "content" && w[1] != "append" {
		return fmt.Errorf("%s does not exist", p)
	}
	mode, owner := "", ""
	if f != nil {
		mode, owner = f.EffectiveMode(), f.EffectiveOwner()
	}
	rest := e.rest
	switch w[1] {
	case "set-arg", "unset-arg":
		return e.arg(p, w[1] == "set-arg")
	case "content", "append":
		e.rest = ""
		if w[1] == "append" {
			rest = string(e.servers.Content(f)) + rest
		}
		e.m.Put(p, e.written([]byte(rest+"\n"), mode, owner))
	case "mode", "owner":
		if _, err := e.word("a " + w[1]); err != nil {
			return err
		}
		if w[1] == "mode" {
			mode = rest
		} else {
			owner = rest
		}
		e.m.Put(p, f.WithAccess(mode, owner))
	case "move":
		to, err := e.word("another path")
		if err != nil {
			return err
		}
		e.m.Put(file.Clean(to), f)
		e.m.Put(p, &file.File{Type: file.Link, Link: to})
	case "delete":
		e.m.Remove(p)
	case "renew":
		return e.renew(p, f)
	case "trust":
		return e.trust(p, f)
	default:
		return fmt.Errorf("unknown action %q on a file; set-arg, unset-arg, content, append, mode, owner, move, delete, renew or trust", w[1])
	}
	return nil
}

// written returns a file with this content. Certificates in PEM become certificates for
// every reader of the file.
func (e *edit) written(content []byte, mode, owner string) *file.File {
	if bytes.HasPrefix(content, []byte("-----BEGIN CERTIFICATE-----\n")) {
		if r, err := file.Import(content, nil); err == nil && r != nil {
			return file.OfRecord(r, mode, owner)
		}
	}
	return e.servers.NewFile(content, mode, owner)
}

// arg sets or removes a flag of a static pod's command.
func (e *edit) arg(p string, set bool) error {
	name, value := e.rest, ""
	if set {
		var err error
		if name, value, err = e.pair("NAME=VALUE"); err != nil {
			return err
		}
	}
	e.rest = ""
	found := false
	err := e.changeYAML(p, func(v state.Value) (state.Value, error) {
		containers := v.Get("spec.containers").AsList()
		if len(containers) == 0 {
			return v, errors.New("it is no pod with a container")
		}
		var command []string
		for _, word := range containers[0].Get("command").AsList() {
			n, _, _ := strings.Cut(strings.TrimPrefix(word.AsString(), "--"), "=")
			switch {
			case n != name:
				command = append(command, word.AsString())
			case set && !found:
				command = append(command, "--"+name+"="+value)
			}
			found = found || n == name
		}
		if set && !found {
			command = append(command, "--"+name+"="+value)
		}
		containers = slices.Clone(containers)
		containers[0] = store.With(containers[0], state.Strings(command...), "command")
		return store.With(v, state.List(containers...), "spec", "containers"), nil
	})
	if err == nil && !set && !found {
		return fmt.Errorf("%s has no flag %q", p, name)
	}
	return err
}

// changeYAML changes a file's tree.
func (e *edit) changeYAML(p string, change func(state.Value) (state.Value, error)) error {
	f := e.m.File(p)
	if !f.IsRegular() {
		return fmt.Errorf("%s does not exist", p)
	}
	tree, err := file.ParseYAML(e.servers.Content(f))
	if err != nil {
		return fmt.Errorf("%s is no YAML: %w", p, err)
	}
	v, err := change(state.FromGo(tree))
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return err
	}
	content, err := yaml.JSONToYAML(asJSON)
	if err != nil {
		return err
	}
	e.m.Put(p, e.servers.NewFile(content, f.EffectiveMode(), f.EffectiveOwner()))
	return nil
}

func (e *edit) yaml() error {
	w, err := e.words("a path", "set or unset")
	if err != nil {
		return err
	}
	change, err := e.fieldChange(w[1])
	if err != nil {
		return err
	}
	return e.changeYAML(file.Clean(w[0]), change)
}

// fieldChange parses FIELD=VALUE, or FIELD for unset.
func (e *edit) fieldChange(action string) (func(state.Value) (state.Value, error), error) {
	switch action {
	case "set":
		field, text, err := e.pair("FIELD=VALUE")
		if err != nil {
			return nil, err
		}
		return func(v state.Value) (state.Value, error) {
			return store.With(v, literal(text), state.SplitPath(field)...), nil
		}, nil
	case "unset":
		field := e.rest
		e.rest = ""
		return func(v state.Value) (state.Value, error) {
			keys := state.SplitPath(field)
			if len(keys) == 0 || v.Get(field).IsNull() {
				return v, fmt.Errorf("it has no field %q", field)
			}
			gone := state.Null()
			for _, key := range slices.Backward(keys) {
				gone = state.Map(map[string]state.Value{key: gone})
			}
			return store.Without(v, gone), nil
		}, nil
	}
	return nil, fmt.Errorf("unknown action %q; set or unset", action)
}

// literal parses a value as YAML would.
func literal(text string) state.Value {
	tree, err := file.ParseYAML([]byte("v: " + text))
	if err != nil {
		return state.String(text)
	}
	return state.FromGo(tree["v"])
}

// trust adds a CA to a kubeconfig.
func (e *edit) trust(p string, f *file.File) error {
	text, err := e.word("a certificate")
	if err != nil {
		return err
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("the certificate is not base64: %w", err)
	}
	ca, err := file.Import(content, nil)
	switch {
	case err != nil:
		return err
	case f.Record == nil || f.Record.Kubeconfig == nil || ca == nil || len(ca.Certificates) == 0:
		return errors.New("it takes a kubeconfig and the certificate of a CA")
	}
	r, k := *f.Record, *f.Record.Kubeconfig
	k.CAs = slices.Concat(k.CAs, ca.Certificates)
	r.Kubeconfig = &k
	e.m.Put(p, file.OfRecord(&r, f.EffectiveMode(), f.EffectiveOwner()))
	return nil
}

// renew issues a file's certificate again for the same period, by the same CA and with a
// new key.
func (e *edit) renew(p string, f *file.File) error {
	key := e.servers.Derive(64, "key", e.m.Address, e.m.NextNumber())
	again := func(c state.CertificateInfo) state.CertificateInfo {
		c.NotAfter, c.NotBefore = e.servers.Now.Add(c.NotAfter.Sub(c.NotBefore)-machine.Backdate), e.servers.Now.Add(-machine.Backdate)
		c.Serial, c.KeyDigest = e.servers.Derive(16, "serial", key), key
		return c
	}
	switch r := f.Record; {
	case r != nil && r.Kubeconfig != nil && r.Kubeconfig.Client != nil:
		k, client := *r.Kubeconfig, again(*r.Kubeconfig.Client)
		k.Client = &client
		e.m.Put(p, file.OfRecord(&file.Record{Kubeconfig: &k, ClientKey: key}, f.EffectiveMode(), f.EffectiveOwner()))
	case r != nil && len(r.Certificates) == 1 && strings.HasSuffix(p, ".crt") && !r.Certificates[0].IsCA:
		e.m.Put(strings.TrimSuffix(p, ".crt")+".key", file.OfRecord(&file.Record{Key: key}, "0600", ""))
		e.m.Put(p, file.OfRecord(&file.Record{Certificates: []state.CertificateInfo{again(r.Certificates[0])}}, f.EffectiveMode(), f.EffectiveOwner()))
	default:
		return fmt.Errorf("%s is neither a certificate nor a kubeconfig with one", p)
	}
	return nil
}
