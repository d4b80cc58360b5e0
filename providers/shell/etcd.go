package shell

import (
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// restoreEtcd has etcdutl restore the data of a member.
func (c *compiler) restoreEtcd(op planner.RestoreEtcd) (string, error) {
	socket, err := socketPath(op.Socket)
	err = errors.Join(err, state.CheckPath(op.DataDir), checkWord("name", op.As), checkWord("name", op.Name), state.CheckText("URL", op.PeerURL), checkDigest(op.SHA256))
	if !imageForm.MatchString(op.Image) {
		err = errors.Join(err, fmt.Errorf("%q is no image", op.Image))
	}
	if err != nil {
		return "", err
	}
	line := call("kw_etcd_restore", c.root+op.DataDir, op.As, c.root+planner.RestoredMark, op.SHA256, op.Image, socket,
		"--name", op.Name, "--initial-cluster", op.Name+"="+op.PeerURL, "--initial-advertise-peer-urls", op.PeerURL,
		// Another token makes another cluster, with which no old member can communicate.
		"--initial-cluster-token", "kubewright-"+op.SHA256[:12])
	return line, c.artifact(op.Artifact, op.SHA256)
}
