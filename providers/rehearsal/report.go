package rehearsal

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/atrest"
)

// Request is a snapshot of etcd to bring back, and what a host needs for that.
type Request struct {
	// Size is in bytes, SHA256 the digest in hex. Open opens the snapshot from its beginning.
	Size   int64
	SHA256 string
	Open   func() (io.ReadCloser, error)
	// Image is etcd's image, Socket the runtime that has it: for a host without programs of etcd.
	Image, Socket string
	// Prefix is what the keys of API objects begin with, as in /registry.
	Prefix string
	// Hear gets what the host is doing, and has to return at once; nil if that is of no interest.
	Hear func(what string)
}

// Report is what the etcd has shown.
type Report struct {
	// Etcd is the version of the program.
	Etcd     string
	Revision int64
	// Folders counts keys by the part of their path after the prefix that names the resource; keys that
	// do not begin with the prefix are counted as "".
	Folders map[string]int64
	// Secret is the first Secret as it is stored; nil if there is none.
	Secret *Stored
}

// Stored is an object as etcd stores it.
type Stored struct {
	// Key is its key in etcd.
	Key string
	// Open decrypts it with the keys of a file.
	Open func(atrest.File) (Opened, error)
}

// Opened is an object that was decrypted.
type Opened struct {
	// By is the ID of the provider that it is stored by, as atrest.ID returns it.
	By              string
	Namespace, Name string
}

// Resource is a resource of the API with the number of its keys.
type Resource struct {
	Name string `json:"resource"`
	Keys int64  `json:"keys"`
}

// Resources returns the resources of a report, those with most keys first.
func (r Report) Resources() []Resource {
	var out []Resource
	for _, folder := range slices.Sorted(maps.Keys(r.Folders)) {
		out = append(out, Resource{resourceOf(folder), r.Folders[folder]})
	}
	slices.SortStableFunc(out, func(a, b Resource) int { return cmp.Compare(b.Keys, a.Keys) })
	return out
}

// Keys returns the number of all keys.
func (r Report) Keys() int64 {
	var sum int64
	for _, n := range r.Folders {
		sum += n
	}
	return sum
}

// resourceOf returns the name of the resource whose objects are in a folder
// (k8s.io/kubernetes/pkg/controlplane, specialDefaultResourcePrefixes).
func resourceOf(folder string) string {
	switch folder {
	case "":
		return "(not of Kubernetes)"
	case "minions":
		return "nodes"
	case "services/specs":
		return "services"
	case "services/endpoints":
		return "endpoints"
	case "controllers":
		return "replicationcontrollers"
	}
	if group, resource, ok := strings.Cut(folder, "/"); ok {
		return resource + "." + group
	}
	return folder
}
