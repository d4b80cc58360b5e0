package shell

import (
	"errors"
	"fmt"
	"regexp"
	"time"

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

// riskForm is the text of a risk, which goes into the manifest of a backup as it is.
var riskForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`)

// riskLength is the longest text of a risk, in bytes.
const riskLength = 100

// takeBackup runs the script of a backup block.
func (c *compiler) takeBackup(op planner.TakeBackup) (string, error) {
	err := errors.Join(state.CheckPath(op.Script), checkDigest(op.SHA256))
	if !riskForm.MatchString(op.Before) || len(op.Before) > riskLength {
		err = errors.Join(err, fmt.Errorf("%q names no risk", op.Before))
	}
	since := ""
	if op.Since > 0 {
		since = time.Unix(op.Since, 0).UTC().Format("20060102150405")
	}
	return call("kw_backup", c.root+op.Script, op.SHA256, op.Before, since), err
}
