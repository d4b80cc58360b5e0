package planner

// The gates for etcd: QuorumGate refuses a step that would leave no majority of healthy voters.
// DowntimeGate allows it for the restart of one of two members when the operator has accepted that.
const (
	QuorumGate   = "etcd-quorum"
	DowntimeGate = "etcd-downtime"
)

// APIGate is the gate that refuses to restart an API server while no other API server that should
// serve at that time does.
const APIGate = "api-served-elsewhere"

// WorkersGate is the gate that refuses to drain a worker for a new kubelet while the maximum number
// of workers of its pool is unavailable.
const WorkersGate = "workers-available"

// SilenceGate is the gate that refuses to stop etcd for a restore while a quorum of it answers:
// kubewright does not restore over a working cluster.
const SilenceGate = "etcd-silent"
