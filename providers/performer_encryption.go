package providers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// encryptionLoaded compares the file with the hash that the API server of the step's node shows.
func (w waiting) encryptionLoaded(ctx context.Context) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	report, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: w.want.Name, Read: state.ReadEncryption}}})
	if err != nil {
		return err
	}
	file := report.Files[w.want.Name]
	if !file.Exists {
		return fmt.Errorf("%s is not there", w.want.Name)
	}
	a, err := w.api(ctx, w.own())
	if err != nil {
		return err
	}
	loaded, err := a.LoadedEncryption(ctx)
	switch {
	case err != nil:
		return err
	case loaded == "":
		return errors.New("the API server reads no file of keys")
	case loaded != file.SHA256:
		return notLoaded(file)
	}
	return nil
}

// notLoaded says that an API server has not loaded a file, and what may prevent it.
func notLoaded(file state.FileReport) error {
	const text = "the API server has not loaded it yet; it looks once a minute"
	switch {
	case file.Encryption == nil:
		return fmt.Errorf("%s, and cannot use this file: %s", text, file.Invalid)
	case len(file.Encryption.Plugins) > 0:
		return fmt.Errorf("%s, and does not while a KMS plugin does not answer: %s. See whether the plugin runs, and what kubectl get --raw /healthz/kms-providers says", text, plugins(file.Encryption.Plugins))
	}
	return errors.New(text)
}

// plugins lists KMS plugins with their sockets.
func plugins(of map[string]state.KMSPlugin) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(of)) {
		out = append(out, strings.TrimPrefix(id, atrest.KMS+":")+" at "+of[id].Endpoint)
	}
	return strings.Join(out, ", ")
}

// rewriteTries is how often objects are stored again before the remaining ones are an error.
const rewriteTries = 3

// rewrite has objects stored again until etcd holds none of another key.
func (w apiWork) rewrite(ctx context.Context, op planner.RewriteObjects) error {
	for _, resource := range op.Resources {
		prefix := atrest.StoredBelow(op.Root, resource)
		for try := 0; ; try++ {
			under, other, err := w.stored(ctx, op, prefix)
			if err != nil {
				return err
			}
			w.log(fmt.Sprintf("%s: etcd holds %d objects with %s, and %d others", resource, under, op.Key, other))
			if other == 0 && (under > 0 || try > 0) {
				break
			}
			if try == rewriteTries {
				return fmt.Errorf("cannot store %s again: after %d tries etcd still holds %d objects without %s; an API server that is not in the configuration may write them", resource, try, other, op.Key)
			}
			n, err := w.storeAgain(ctx, resource)
			if err != nil {
				return err
			}
			if n > 0 && under+other == 0 {
				// What is counted are not these objects.
				if under, other, err = w.stored(ctx, op, prefix); err == nil && under+other == 0 {
					err = fmt.Errorf("cannot store %s again: the API has %d, and etcd holds none below %s", resource, n, prefix)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// storeAgain has the API server store the objects of a resource again, and returns their number.
func (w apiWork) storeAgain(ctx context.Context, resource string) (n int, err error) {
	err = w.retry(ctx, retryTime, passing, func(ctx context.Context) error {
		return w.Through(ctx, w.via(), func(ctx context.Context, a API) (err error) {
			n, err = a.Rewrite(ctx, resource)
			return err
		})
	})
	return n, err
}

// stored counts what etcd holds below a prefix.
func (w apiWork) stored(ctx context.Context, op planner.RewriteObjects, prefix string) (under, other int, err error) {
	err = w.retry(ctx, retryTime, passing, func(ctx context.Context) error {
		host, err := w.Host(ctx, w.via())
		if err != nil {
			return err
		}
		at := EtcdAt{Endpoints: op.Etcd.Endpoints}
		if len(at.Endpoints) == 0 {
			seat, err := w.Seat(w.via())
			if err != nil {
				return err
			}
			at.Endpoints = []string{seat.EtcdURL()}
		}
		if op.Etcd.CA != "" {
			files, err := host.ReadSecrets(ctx, []string{op.Etcd.CA, op.Etcd.Certificate, op.Etcd.Key})
			if err != nil {
				return fmt.Errorf("cannot read the client certificate of etcd: %w", err)
			}
			at.EtcdCredentials = EtcdCredentials{CA: files[op.Etcd.CA], Certificate: files[op.Etcd.Certificate], Key: files[op.Etcd.Key]}
		}
		under, other, err = w.Access.StoredUnder(ctx, host, at, prefix, op.Key)
		return err
	})
	return under, other, err
}
