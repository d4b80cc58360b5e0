package providers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// apiWork is the part of a step that goes to the API.
type apiWork struct{ *work }

func (w apiWork) perform(ctx context.Context, op planner.Operation) error {
	limit, again := retryTime, passing
	var do func(context.Context, API) error
	switch op := op.(type) {
	case planner.ApplyObject:
		object, err := w.object(ctx, op)
		if err != nil {
			return err
		}
		if op.Object.Get("kind").AsString() == "Service" {
			limit = addressTime
		}
		// Its namespace may be another addon's, which is applied at the same time.
		again = func(err error) bool { return passing(err) || errors.Is(err, ErrNotFound) }
		do = w.applier(op, object)
	case planner.DeleteObject:
		limit, do = goneTime, func(ctx context.Context, a API) error { return deleted(ctx, a, op.Ref) }
	case planner.PatchNode:
		// The kubelet may be about to register the node.
		limit, again = max(limit, op.Timeout), func(err error) bool { return passing(err) || errors.Is(err, ErrNotFound) }
		patch, err := w.patch(ctx, op)
		if err != nil {
			return err
		}
		do = w.patcher(patch)
	case planner.RestartPods:
		limit = max(limit, op.Timeout)
		do = func(ctx context.Context, a API) error { return a.Restart(ctx, op) }
	case planner.Cordon:
		do = func(ctx context.Context, a API) error { return a.Cordon(ctx, op) }
	case planner.Drain:
		return w.drain(ctx, op)
	case planner.CreateToken:
		// After a lost answer a second token would be one too many to delete.
		if op.ID == "" {
			again = func(err error) bool { return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnreachable) }
		}
		do = func(ctx context.Context, a API) error { return w.createToken(ctx, a, op) }
	case planner.UploadCerts:
		do = func(ctx context.Context, a API) error { return w.uploadCerts(ctx, a, op) }
	case planner.DeleteToken:
		token, err := w.token(op.Token)
		if err != nil {
			w.log("the bootstrap token is not known to this run; it expires by itself")
			return nil
		}
		do = func(ctx context.Context, a API) error { return a.DeleteToken(ctx, token) }
	case planner.RewriteObjects:
		return w.rewrite(ctx, op)
	case planner.DeleteJoinTokens:
		do = func(ctx context.Context, a API) error { return a.DeleteJoinTokens(ctx, op.Keep) }
	default:
		return fmt.Errorf("internal error: no performer for operation %s", op.Op())
	}
	return w.retry(ctx, limit, again, func(ctx context.Context) error {
		return w.Through(ctx, w.via(), do)
	})
}

// deleted deletes an object, and fails until it is gone: a namespace goes after its
// contents, and finalizers hold an object until their controllers have cleaned up.
func deleted(ctx context.Context, a API, ref state.ObjectRef) error {
	if err := a.Delete(ctx, ref); err != nil {
		return err
	}
	live, err := objectOf(ctx, a, ref)
	if err != nil || live.Get("metadata.deletionTimestamp").IsNull() {
		return err
	}
	why := "it is being deleted"
	if held := live.Get("metadata.finalizers").AsList(); len(held) > 0 {
		why += ", and held by"
		for _, f := range held {
			why += " " + f.AsString()
		}
	}
	return &Error{Kind: ErrUnavailable, Do: "delete " + ref.String(), Cause: errors.New(why)}
}

// applier applies an object only if it has not changed since the plan was made. The API
// refuses it when the object changes between the read and the write. After an attempt that
// may have been applied, the observed object may be our own.
func (w apiWork) applier(op planner.ApplyObject, object state.Value) func(context.Context, API) error {
	ref := state.ObjectRef{
		APIVersion: op.Object.Get("apiVersion").AsString(), Kind: op.Object.Get("kind").AsString(),
		Namespace: op.Object.Get("metadata.namespace").AsString(), Name: op.Object.Get("metadata.name").AsString(),
	}
	want, expected := w.step.Expect[planner.ObjectExpectation(ref)]
	return func(ctx context.Context, a API) error {
		wanted := object
		if expected {
			live, err := objectOf(ctx, a, ref)
			if err != nil {
				return err
			}
			if err := moved(ref, want, planner.ApplyDigest(op.Object, live)); err != nil {
				return err
			}
			wanted = withVersion(object, live)
		}
		err := a.Apply(ctx, wanted, op.CreateOnly)
		expected = expected && errors.Is(err, ErrUnavailable)
		return err
	}
}

// patcher patches a node only if the parts concerned have not changed since the plan was
// made.
func (w apiWork) patcher(op planner.PatchNode) func(context.Context, API) error {
	ref := planner.NodeRef(op.Node)
	want, expected := w.step.Expect[planner.ObjectExpectation(ref)]
	expect := func(live state.NodeReport) error { return moved(ref, want, planner.PatchDigest(op, live)) }
	return func(ctx context.Context, a API) error {
		if !expected {
			return a.PatchNode(ctx, op, nil)
		}
		err := a.PatchNode(ctx, op, expect)
		expected = expected && errors.Is(err, ErrUnavailable)
		return err
	}
}

// moved refuses an object that has changed.
func moved(ref state.ObjectRef, want, now string) error {
	if want == now {
		return nil
	}
	return &Error{Kind: ErrMoved, Do: "change " + ref.String(), Cause: Moved("what is to be set there", want, now)}
}

// Moved returns an error text that names what has changed since the plan was made, and the
// remedy.
func Moved(what, was, now string) error {
	return fmt.Errorf("%s has changed since the plan was made (sha256 %s then, %s now), so nothing was written over it. "+
		"Find out who changes it, and plan again", what, shortDigest(was), shortDigest(now))
}

// shortDigest returns enough of a digest to tell two apart.
func shortDigest(digest string) string {
	const head = 12
	if digest = strings.TrimPrefix(digest, planner.ExpectedFile("")); len(digest) > head {
		return digest[:head]
	}
	return digest
}

func objectOf(ctx context.Context, a API, ref state.ObjectRef) (state.Value, error) {
	if r, ok := a.(ObjectReader); ok {
		return r.Object(ctx, ref)
	}
	report, err := a.Observe(ctx, state.ClusterQuery{Objects: []state.ObjectRef{ref}})
	if err != nil {
		return state.Value{}, err
	}
	return report.Objects[ref], nil
}

// withVersion makes the API refuse an object unless the live version still matches.
func withVersion(object, live state.Value) state.Value {
	version := live.Get("metadata.resourceVersion")
	if version.IsNull() {
		return object
	}
	top, meta := maps.Clone(object.AsMap()), maps.Clone(object.Get("metadata").AsMap())
	meta["resourceVersion"] = version
	top["metadata"] = state.Map(meta)
	return state.Map(top)
}

func (w apiWork) createToken(ctx context.Context, a API, op planner.CreateToken) error {
	secret, err := w.given(ctx, op.Token)
	if err != nil {
		return err
	}
	token, err := a.CreateToken(ctx, op, secret)
	w.hide(token)
	if err == nil && op.ID == "" {
		w.outputs["token"] = Output{Secret: token}
	}
	return err
}

// CertificateKey is the output of UploadCerts.
const CertificateKey = "certificate_key"

func (w apiWork) uploadCerts(ctx context.Context, a API, op planner.UploadCerts) error {
	key, err := w.given(ctx, op.Key)
	if err != nil {
		return err
	}
	host, err := w.Host(ctx, w.via())
	if err != nil {
		return err
	}
	paths := make([]string, len(op.Files))
	for i, f := range op.Files {
		paths[i] = f.Path
	}
	found, err := host.ReadSecrets(ctx, paths)
	if err != nil {
		return fmt.Errorf("cannot read the certificates: %w", err)
	}
	files := map[string]state.Secret{}
	for _, f := range op.Files {
		files[f.Key] = found[f.Path]
	}
	made, err := a.UploadCerts(ctx, op, files, key)
	w.hide(made)
	if err == nil && op.Key.IsZero() {
		w.outputs[CertificateKey] = Output{Secret: made}
	}
	return err
}

// given returns the operator's text that a reference stands for; zero for none.
func (w apiWork) given(ctx context.Context, s state.Sensitive) (state.Secret, error) {
	if s.IsZero() {
		return state.Secret{}, nil
	}
	v, err := w.leaf(ctx, s)
	return state.NewSecret([]byte(v.AsString())), err
}

// object returns the object to apply, with all references of the plan resolved.
func (w apiWork) object(ctx context.Context, op planner.ApplyObject) (state.Value, error) {
	object, err := w.resolved(ctx, op.Object)
	if err != nil || op.CAFrom == "" {
		return object, err
	}
	host, err := w.Host(ctx, w.via())
	if err != nil {
		return state.Value{}, err
	}
	files, err := host.ReadSecrets(ctx, []string{op.CAFrom})
	if err != nil {
		return state.Value{}, fmt.Errorf("cannot read the CA: %w", err)
	}
	ca := files[op.CAFrom]
	if ca.IsZero() {
		return state.Value{}, fmt.Errorf("cannot read the CA: %s is not there", op.CAFrom)
	}
	return withCA(object, op.CAKey, ca.Reveal())
}

// resolved replaces sensitive and pending values by their contents.
func (w apiWork) resolved(ctx context.Context, v state.Value) (state.Value, error) {
	switch v.Kind() {
	case state.KindSensitive:
		return w.leaf(ctx, v.AsSensitive())
	case state.KindPending:
		p := v.AsPending()
		o, ok := w.output(p)
		if !ok {
			return state.Value{}, fmt.Errorf("cannot find output %s of %s: that step was not part of this run; plan again", p.Output, p.Step)
		}
		if !o.Secret.IsZero() {
			return state.String(string(o.Secret.Reveal())), nil
		}
		return o.Value, nil
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			var err error
			if list[i], err = w.resolved(ctx, e); err != nil {
				return state.Value{}, err
			}
		}
		return state.List(list...), nil
	case state.KindMap:
		m := make(map[string]state.Value, len(v.AsMap()))
		for k, e := range v.AsMap() {
			var err error
			if m[k], err = w.resolved(ctx, e); err != nil {
				return state.Value{}, err
			}
		}
		return state.Map(m), nil
	}
	return v, nil
}

// leaf returns the leaf of an object that a reference stands for.
func (w apiWork) leaf(ctx context.Context, s state.Sensitive) (state.Value, error) {
	content, err := w.resolve(ctx, s)
	if err != nil {
		return state.Value{}, err
	}
	var v state.Value
	if v.UnmarshalJSON(content.Reveal()) != nil {
		return state.Value{}, fmt.Errorf("internal error: what %s stands for is no JSON", s.Ref)
	}
	return v, nil
}

// patch returns the patch, with its sensitive values resolved.
func (w apiWork) patch(ctx context.Context, op planner.PatchNode) (planner.PatchNode, error) {
	into := map[string]map[string]string{"labels": maps.Clone(op.Labels), "annotations": maps.Clone(op.Annotations)}
	for path, s := range op.Sealed {
		keys := state.SplitPath(path)
		if len(keys) != 2 || keys[0] != "labels" && keys[0] != "annotations" {
			return op, fmt.Errorf("internal error: a node has no %s to patch", path)
		}
		content, err := w.resolve(ctx, s)
		if err != nil {
			return op, err
		}
		if into[keys[0]] == nil {
			into[keys[0]] = map[string]string{}
		}
		into[keys[0]][keys[1]] = string(content.Reveal())
	}
	op.Labels, op.Annotations, op.Sealed = into["labels"], into["annotations"], nil
	return op, nil
}

// withCA fills certificate-authority-data of the clusters in the kubeconfig
// that an object has under a data key.
func withCA(object state.Value, key string, ca []byte) (state.Value, error) {
	var config map[string]any
	text := object.Get("data").AsMap()[key].AsString()
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return state.Value{}, fmt.Errorf("internal error: data key %q holds no kubeconfig", key)
	}
	clusters, _ := config["clusters"].([]any)
	if len(clusters) == 0 {
		return state.Value{}, fmt.Errorf("internal error: the kubeconfig in data key %q has no cluster", key)
	}
	for _, c := range clusters {
		entry, _ := c.(map[string]any)
		if cluster, ok := entry["cluster"].(map[string]any); ok {
			cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(ca)
		}
	}
	b, err := yaml.Marshal(config)
	if err != nil {
		return state.Value{}, fmt.Errorf("internal error: cannot encode the kubeconfig in data key %q", key)
	}
	top, data := maps.Clone(object.AsMap()), maps.Clone(object.Get("data").AsMap())
	data[key] = state.String(string(b))
	top["data"] = state.Map(data)
	return state.Map(top), nil
}
