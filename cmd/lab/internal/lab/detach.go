package lab

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
)

// searchPath is the PATH of hosts, and of the commands that start them.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// joinScript enters cgroups and becomes the command.
const joinScript = `for f in $PROCS; do echo $$ >"$f"; done; unset PROCS; exec "$@"`

// detach starts a command in a new cgroup and a session of its own, so that it outlives this
// process and can be found and killed by the name of its cgroup. The channel is closed when the
// command has ended.
func detach(group cgroup.Group, logName string, env []string, argv ...string) (ended <-chan struct{}, err error) {
	trees, err := group.Create()
	if err != nil {
		return nil, err
	}
	var procs []string
	for _, t := range trees {
		procs = append(procs, group.Path(t, "cgroup.procs"))
	}
	out, err := os.OpenFile(logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh", append([]string{"-euc", joinScript, "sh"}, argv...)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = "/"
	cmd.Env = append(env, "PROCS="+strings.Join(procs, " "))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := make(chan struct{})
	go func() {
		cmd.Wait() // reap it, whenever it ends
		close(end)
	}()
	return end, nil
}
