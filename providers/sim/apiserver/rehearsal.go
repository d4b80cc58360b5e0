package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/providers/sim/etcd"
)

// Rehearsed returns what an etcd with the data of a cluster shows.
func Rehearsed(c *etcd.Cluster) *rehearsal.Report {
	r := &rehearsal.Report{Etcd: "simulated", Revision: int64(len(c.Objects) + len(c.Nodes) + len(c.Pods) + c.Made + c.Leased), Folders: map[string]int64{}}
	count := func(resource string, n int) {
		if n > 0 {
			r.Folders[strings.Trim(atrest.StoredBelow("", resource), "/")] += int64(n)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		o := c.Objects[key]
		count(resourceOf(o), 1)
		if r.Secret == nil && resourceOf(o) == "secrets" {
			namespace := o.Live.Get("metadata.namespace").AsString()
			r.Secret = &rehearsal.Stored{Key: "/registry/secrets/" + namespace + "/" + o.Name(), Open: func(f atrest.File) (rehearsal.Opened, error) {
				return opened(o.Key, f, namespace, o.Name())
			}}
		}
	}
	count("nodes", len(c.Nodes))
	count("pods", len(c.Pods))
	count("leases.coordination.k8s.io", len(c.Leases))
	count("poddisruptionbudgets.policy", len(c.PDBs))
	return r
}

// opened returns a Secret if the file has the key with which it is stored.
func opened(stored string, f atrest.File, namespace, name string) (rehearsal.Opened, error) {
	id := provider(stored)
	out := rehearsal.Opened{By: id, Namespace: namespace, Name: name}
	switch {
	case stored == "":
		out.By = atrest.Identity
	case strings.HasPrefix(id, atrest.KMS+":"):
		return out, fmt.Errorf("%w: %s", rehearsal.ErrPlugin, strings.TrimPrefix(id, atrest.KMS+":"))
	case len(f.Keys[id]) == 0:
		return out, fmt.Errorf("%w, it is stored under %s", rehearsal.ErrKey, id)
	case keyed(id, f) != stored:
		return out, fmt.Errorf("%w, it is stored under another key with the name %s", rehearsal.ErrKey, id)
	}
	return out, nil
}
