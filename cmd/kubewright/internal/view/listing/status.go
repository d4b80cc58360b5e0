package listing

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Status is what clusters, hosts and state show at one moment. What is not known is left out: it is
// neither zero nor false.
type Status struct {
	FormatVersion string          `json:"format_version"`
	Time          time.Time       `json:"time"`
	Clusters      []ClusterStatus `json:"clusters"`
	State         StateStatus     `json:"state"`
	// Applies are the last ones, the newest first.
	Applies []Applied `json:"last_applies"`
	// OutputsDiffer reports whether an apply would write other outputs.
	OutputsDiffer bool `json:"outputs_differ,omitempty"`
}

// ClusterStatus is the status of one cluster.
type ClusterStatus struct {
	Name string `json:"name"`
	// Created reports whether the state or a host knows the cluster.
	Created bool `json:"created"`
	// Problems are what does not work or is not known, the worst first.
	Problems []Problem `json:"problems"`
	API      APIStatus `json:"api"`
	// Configured is the version of the configuration; empty if it has no such cluster.
	Configured   string             `json:"configured_version,omitempty"`
	Nodes        []NodeStatus       `json:"nodes"`
	Etcd         EtcdHealth         `json:"etcd"`
	Certificates CertificatesStatus `json:"certificates"`
	Snapshot     *SnapshotStatus    `json:"snapshot,omitempty"`
	Backup       *BackupStatus      `json:"backup,omitempty"`
	Differences  Differences        `json:"differences"`
}

// ProblemKind is what a problem is about.
type ProblemKind string

// The kinds of problems.
const (
	ProblemAPI         ProblemKind = "api"
	ProblemEtcd        ProblemKind = "etcd"
	ProblemNode        ProblemKind = "node"
	ProblemCertificate ProblemKind = "certificate"
	ProblemBackup      ProblemKind = "backup"
	ProblemSkew        ProblemKind = "skew"
	ProblemPlan        ProblemKind = "plan"
	// ProblemHost: a host does not answer, so that what it holds is not known.
	ProblemHost ProblemKind = "host"
)

// Problem is something that does not work, or is not known.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// Address is the node that it is about, if it is one.
	Address string `json:"address,omitempty"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

// APIStatus says whether an API server answers.
type APIStatus struct {
	// Answers is nil where no API server could be asked.
	Answers *bool  `json:"answers,omitempty"`
	Version string `json:"version,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// NodeStatus is the status of a node and its host.
type NodeStatus struct {
	Address string `json:"address"`
	// Name is the name in the API; empty if it is not known.
	Name string `json:"name,omitempty"`
	Role string `json:"role"`
	// Leaving reports whether the configuration has no such node any more.
	Leaving bool `json:"leaving,omitempty"`
	// HostAnswers reports whether the host was observed; otherwise Reason says why not.
	HostAnswers bool                `json:"host_answers"`
	Reason      string              `json:"reason,omitempty"`
	Ready       state.NodeCondition `json:"ready"`
	Cordoned    bool                `json:"cordoned,omitempty"`
	Kubelet     string              `json:"kubelet_version,omitempty"`
	// APIServer is the version of the API server on a control plane.
	APIServer string `json:"api_server_version,omitempty"`
	// Certificate is the first to expire on the host.
	Certificate *ExpiringCertificate `json:"certificate,omitempty"`
}

// EtcdHealth is the status of a cluster's etcd.
type EtcdHealth struct {
	// External reports whether it is managed outside of kubewright, and not asked.
	External bool `json:"external,omitempty"`
	// Reason says why it could not be asked; Voters, Healthy and Quorum are 0 then.
	Reason  string             `json:"reason,omitempty"`
	ID      string             `json:"etcd_cluster_id,omitempty"`
	Voters  int                `json:"voters,omitempty"`
	Healthy int                `json:"healthy_voters,omitempty"`
	Quorum  int                `json:"quorum,omitempty"`
	Members []state.EtcdMember `json:"members,omitempty"`
}

// CertificatesStatus sums up the certificates on the hosts that answer.
type CertificatesStatus struct {
	// First is the first to expire among those that an apply, a rotation or the operator renews.
	First *ExpiringCertificate `json:"first,omitempty"`
	// Due counts those that have to be renewed now, Expired those whose validity has ended, and
	// Unreadable those that cannot be read.
	Due        int `json:"due"`
	Expired    int `json:"expired"`
	Unreadable int `json:"unreadable"`
}

// ExpiringCertificate is a certificate, or one in a kubeconfig.
type ExpiringCertificate struct {
	Node     string    `json:"node"`
	Host     string    `json:"host,omitempty"`
	Path     string    `json:"path"`
	NotAfter time.Time `json:"not_after"`
	DaysLeft int       `json:"days_left"`
	Due      bool      `json:"due,omitempty"`
}

// SnapshotStatus is the last snapshot of etcd in the folder beside the state.
type SnapshotStatus struct {
	// Folder is where snapshots are looked for.
	Folder string `json:"folder"`
	// Path and Taken are empty if there is none.
	Path  string    `json:"path,omitempty"`
	Taken time.Time `json:"taken,omitzero"`
	// AgeSeconds is how old it is.
	AgeSeconds int64 `json:"age_seconds,omitempty"`
	// Reason says why the folder cannot be read.
	Reason string `json:"reason,omitempty"`
}

// BackupStatus is the last backup that the control planes have taken.
type BackupStatus struct {
	// Name and Taken are empty if there is none.
	Name  string    `json:"name,omitempty"`
	Taken time.Time `json:"taken,omitzero"`
	// AgeSeconds is how old it is; Overdue reports whether that is more than twice the schedule.
	AgeSeconds int64 `json:"age_seconds,omitempty"`
	Overdue    bool  `json:"overdue,omitempty"`
	// Failure says why the last attempt failed.
	Failure string `json:"failure,omitempty"`
}

// Differences is what differs from the configuration.
type Differences struct {
	// Known reports whether a plan could be made; Reasons says why not.
	Known   bool     `json:"known"`
	Reasons []string `json:"reasons,omitempty"`
	// NotObserved counts the nodes and other targets that the plan leaves out because they could
	// not be observed.
	NotObserved int `json:"not_observed,omitempty"`
	// Outside are the items that were changed outside of kubewright.
	Outside []OutsideChange `json:"outside,omitempty"`
	// After is a moment at which none of them differed: they were changed later.
	After time.Time `json:"after,omitzero"`
	// Pending counts the resources that an apply would change, for whatever reason.
	Pending *Counts `json:"pending,omitempty"`
}

// OutsideChange is an item that was changed outside of kubewright.
type OutsideChange struct {
	Address string `json:"address"`
	// Written is when the file was last written, by the clock of its host, which is not before
	// Differences.After; zero where that is not known.
	Written time.Time `json:"written,omitzero"`
}

// StateStatus is the status of the state and its lock.
type StateStatus struct {
	// Place is where it is: a file if Local, otherwise in a backend.
	Place   string `json:"place"`
	Local   bool   `json:"local"`
	Exists  bool   `json:"exists"`
	Lineage string `json:"lineage,omitempty"`
	Serial  int64  `json:"serial,omitempty"`
	// Locked is nil where the backend could not be asked; Reason says why.
	Locked *bool       `json:"locked,omitempty"`
	Reason string      `json:"reason,omitempty"`
	Holder *LockHolder `json:"holder,omitempty"`
	// Silent reports whether the holder has not renewed the lock for a while.
	Silent bool `json:"silent,omitempty"`
}

// LockHolder is the run that holds the state's lock.
type LockHolder struct {
	Run       string    `json:"run"`
	Who       string    `json:"who,omitempty"`
	Operation string    `json:"operation,omitempty"`
	PID       int       `json:"pid,omitempty"`
	Since     time.Time `json:"since"`
	Renewed   time.Time `json:"renewed,omitzero"`
}

// Broken reports whether something does not work. A host that does not answer is not known to be
// broken.
func (s Status) Broken() bool {
	for _, c := range s.Clusters {
		if slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Kind != ProblemHost }) {
			return true
		}
	}
	return false
}

// Unknown reports whether a host does not answer.
func (s Status) Unknown() bool {
	for _, c := range s.Clusters {
		if slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Kind == ProblemHost }) {
			return true
		}
	}
	return false
}
