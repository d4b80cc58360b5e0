package planner

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Wait waits for a condition and fails after Timeout with the last observation.
type Wait struct {
	For WaitFor `json:"for"`
	// URL is for http: 200 is success. It is dialled from the step's node. The server's certificate
	// has to be signed by CA, a path on that node; without CA it is not verified.
	URL string `json:"url,omitempty"`
	CA  string `json:"ca,omitempty"`
	// Name is a node, a pod or a file.
	Name string `json:"name,omitempty"`
	// Version is the version that the kubelet of a node has to report, without v; any if empty.
	Version string `json:"version,omitempty"`
	// Process has to be started, and file Name written, after Files were written. A node that is
	// Ready has to have reported that since its Process, the kubelet on the step's node, was
	// started: until then the API shows what the one before reported.
	Process state.Process `json:"process,omitzero"`
	Files   []string      `json:"files,omitempty"`
	// Hash, or the value of HashRef, is the hash of the static pod; two, separated by a space,
	// where the kubelet may have one version or another.
	Hash    string `json:"hash,omitempty"`
	HashRef string `json:"hash_ref,omitempty"`
	// Pause is how long ago a node must have been uncordoned with Version.
	Pause   time.Duration `json:"pause,omitempty"`
	Timeout time.Duration `json:"timeout"`
}

// WaitFor is a condition that can be waited for.
type WaitFor string

// The conditions.
const (
	// WaitHTTP: URL answers 200.
	WaitHTTP WaitFor = "http"
	// WaitClosed: no server listens at URL any more.
	WaitClosed WaitFor = "closed"
	// WaitAPI: the API answers /readyz through the step's node with the administrator's rights.
	WaitAPI WaitFor = "api"
	// WaitStaticPod: pod Name runs manifest Hash and is ready.
	WaitStaticPod WaitFor = "static_pod"
	// WaitNodeRegistered: Node Name exists, and its kubelet has Version.
	WaitNodeRegistered WaitFor = "node_registered"
	// WaitNodeReady: Node Name is Ready, by a report of its running Process, and its kubelet has
	// Version.
	WaitNodeReady WaitFor = "node_ready"
	// WaitPause: Node Name was uncordoned or restarted with Version at least Pause ago, or at an
	// unknown time (LetInAnnotation).
	WaitPause WaitFor = "pause"
	// WaitFile: file Name exists on the step's node, and was not written before Files.
	WaitFile WaitFor = "file"
	// WaitRestarted: Process runs and was started after Files were written.
	WaitRestarted WaitFor = "restarted"
	// WaitServed: the server at URL presents the certificate in file Name.
	WaitServed WaitFor = "served"
	// WaitRootCA: the ConfigMap kube-root-ca.crt of every namespace has the certificates in file
	// Name.
	WaitRootCA WaitFor = "root_ca"
	// WaitEtcdStarted: the etcd member Name has started.
	WaitEtcdStarted WaitFor = "etcd_started"
	// WaitEncryption: the API server of the step's node encrypts as file Name says: its metric has
	// the hash of the file.
	WaitEncryption WaitFor = "encryption"
)
