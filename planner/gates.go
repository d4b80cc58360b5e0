package planner

// The gates about etcd: QuorumGate refuses what would leave no majority of healthy
// voters; DowntimeGate allows it for the restart of one of two, where somebody
// has accepted that.
const (
	QuorumGate   = "etcd-quorum"
	DowntimeGate = "etcd-downtime"
)

// APIGate is the gate that refuses to restart an API server while no other one
// serves that is to serve then.
const APIGate = "api-served-elsewhere"

// WorkersGate is the gate that refuses to empty a worker for a new kubelet while as many
// of its pool are down as may be.
const WorkersGate = "workers-available"

// SilenceGate is the gate that refuses to stop etcd for a restore while a quorum of it
// answers: nothing is restored over a cluster that works.
const SilenceGate = "etcd-silent"
