package preflight

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner/topology"
)

const (
	// slowFlush is how long a flush may take on average. etcd's own limit is 10 ms for the slowest
	// hundredth of its syncs (etcd.io/docs, "Hardware recommendations" and the metric
	// wal_fsync_duration_seconds), so that a disk with this average is surely too slow.
	slowFlush = 10 * time.Millisecond
	// fewFlushes are too few for an average.
	fewFlushes = 20
)

// etcdDisk finds a disk that is too slow for etcd, which answers no write before a majority of its members
// have it on their disks.
func etcdDisk(n *topology.Node) []finding {
	folder := n.EtcdFolder()
	count, took, _ := strings.Cut(n.Report.Preflight[answerEtcdDisk], "/")
	flushes, err := strconv.ParseInt(count, 10, 64)
	if err != nil || flushes < fewFlushes || folder == "" {
		return nil
	}
	ms, err := strconv.ParseInt(took, 10, 64)
	mean := time.Duration(float64(ms) / float64(flushes) * float64(time.Millisecond))
	if err != nil || mean <= slowFlush {
		return nil
	}
	return []finding{{
		warning: true,
		text: fmt.Sprintf("a flush of the disk below %s took %s on average since the host started (%d flushes), and etcd wants less than %s: each write to the API waits for it, and etcd elects new leaders when it takes too long",
			folder, mean.Round(time.Millisecond), flushes, slowFlush),
		remedy: fmt.Sprintf("give etcd a faster disk, mounted at %s, or one that nothing else uses", folder),
	}}
}
