package preflight

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// BackupQuery queries the programs that take a backup of the cluster on a control plane, and what they
// have reported.
func BackupQuery(n *topology.Node, q *state.Query) {
	if n.Cluster.Backup == nil || !n.IsControlPlane() {
		return
	}
	q.Commands = append(q.Commands, backupCommands(n)...)
	q.Files = append(q.Files, state.FileQuery{Path: backup.ScriptPath, Read: state.ReadDigest})
	if n.Cluster.Backup.Folder != "" {
		q.Globs = append(q.Globs, n.Cluster.Backup.Folder+"/"+n.Cluster.Label+"-*.tar.age")
	}
	for _, p := range config.BackupReports {
		q.Files = append(q.Files, state.FileQuery{Path: p, Read: state.ReadContent})
	}
}

// backupCommands returns the programs that the script of a backup runs, and a host may lack.
func backupCommands(n *topology.Node) []string {
	if n.Cluster.Backup.Bucket != "" {
		return []string{"age", "curl"}
	}
	return []string{"age"}
}

// backupPrograms checks that a control plane can take a backup.
func backupPrograms(n *topology.Node) []finding {
	if n.Cluster.Backup == nil {
		return nil
	}
	var out []finding
	for _, c := range backupCommands(n) {
		if present, asked := n.Report.Commands[c]; !asked || present || c == "age" && host.HasArtifact(n, config.ArtifactAge) {
			continue
		}
		remedy := "install it (apt-get install " + c + ", or dnf install " + c + ")"
		if c == "age" {
			remedy += orPut(n, "age-v1.3.1-linux-"+n.Facts().Arch+".tar.gz")
		}
		out = append(out, finding{text: c + " is not in root's PATH, and the backup block needs it", remedy: remedy})
	}
	return out
}
