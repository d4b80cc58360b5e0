package pki

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// restoredCAs brings what all control planes share from a backup. The host is marked first: from then
// on only a restore may continue, for it would otherwise become an empty cluster with these CAs.
func restoredCAs(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	from := n.Cluster.Restored
	var files []planner.SecretFile
	add := func(p, mode string) { files = append(files, BringFile(n.Cluster, p, mode, config.RestoredPath(p))) }
	for _, ca := range n.Cluster.Authorities {
		if ca.KeyLocation == topology.Made && ChangesPair(w, ca.Base) {
			// The key comes before the certificate: an existing certificate means that the pair is
			// complete.
			add(ca.Base+".key", KeyMode)
			add(ca.Base+".crt", "0644")
		}
	}
	if sa := n.ServiceAccountKey(); ChangesPair(w, sa) {
		add(sa+".key", KeyMode)
		add(sa+".pub", KeyMode)
	}
	mark := from.SHA256 + "\n"
	sum := sha256.Sum256([]byte(mark))
	ops := []planner.Operation{planner.WriteFile{Path: planner.RestoredMark, Mode: "0600", Owner: topology.Root, Content: planner.Content{Inline: mark}, SHA256: hex.EncodeToString(sum[:])}}
	if len(files) > 0 {
		ops = append(ops, planner.ImportSecrets{Files: files})
	}
	return ops
}
