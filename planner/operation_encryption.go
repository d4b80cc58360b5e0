package planner

import (
	"strings"

	"github.com/kubewright/kubewright/state"
)

// WriteEncryption writes the file by which API servers encrypt objects in etcd, mode 0600 and owner
// root:root: the providers of each resource, with keys from the file that is there, from the same
// file of another control plane, or new. The keys pass through the operator's memory.
type WriteEncryption struct {
	Path string `json:"path"`
	// Chains are the providers of each resource with the names of their keys, the one that encrypts
	// first: secretbox:2026-11, identity.
	Chains map[string][]string `json:"chains"`
	// Plugins are the KMS plugins among them.
	Plugins map[string]state.KMSPlugin `json:"plugins,omitempty"`
	// From is the control plane from which keys are copied; zero for none. Its keys take precedence
	// over those that are there.
	From state.Target `json:"from,omitzero"`
	// Make are the keys that are made, unless there is one of the name.
	Make []string `json:"make,omitempty"`
}

// Op returns the name in JSON.
func (WriteEncryption) Op() string { return "write_encryption" }

// Summary returns one line for the progress display.
func (o WriteEncryption) Summary() string {
	if len(o.Make) > 0 {
		return "write " + o.Path + "; make key " + strings.Join(o.Make, ", ") + " if there is none"
	}
	return "write " + o.Path
}

// DoneWhen returns the condition under which the operation is already done.
func (WriteEncryption) DoneWhen() string {
	return "the file has these providers in this order, with these keys, and is root's with mode 0600"
}

// RewriteObjects has the API server store the objects of resources again, page by page and without a
// change, until none is stored with another key than Key: it reads in etcd with which key each one is.
// Objects that clients write or delete meanwhile are stored with it anyway.
type RewriteObjects struct {
	Resources []string `json:"resources"`
	// Key is the provider with the name of its key: secretbox:2026-11; identity for none.
	Key string `json:"key"`
	// Root is the prefix of the API servers' keys in etcd.
	Root string     `json:"root"`
	Etcd EtcdReader `json:"etcd"`
}

// EtcdReader is how an API server's data in etcd is read through a control plane. The files are on
// that host; none for an etcd without TLS. Without Endpoints it is the member of that host.
type EtcdReader struct {
	Endpoints   []string `json:"endpoints,omitempty"`
	CA          string   `json:"ca,omitempty"`
	Certificate string   `json:"certificate,omitempty"`
	Key         string   `json:"key,omitempty"`
}

// Op returns the name in JSON.
func (RewriteObjects) Op() string { return "rewrite_objects" }

// Summary returns one line for the progress display.
func (o RewriteObjects) Summary() string {
	with := "with key " + o.Key
	if !strings.Contains(o.Key, ":") {
		with = "without encryption"
	}
	return "store " + strings.Join(o.Resources, ", ") + " again " + with
}

// DoneWhen returns the condition under which the operation is already done.
func (RewriteObjects) DoneWhen() string {
	return "etcd holds no object of these resources that another key has encrypted"
}
