package operation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

const timePods = 2 * time.Second

// Operations are kubewright's operations on a machine.
type Operations struct {
	servers *apiserver.Servers
	m       *machine.Machine
}

// On returns the operations on a machine.
func On(s *apiserver.Servers, m *machine.Machine) Operations { return Operations{s, m} }

// Perform performs one operation of the closed set and reports whether it changed anything.
func (do Operations) Perform(op planner.Operation, batch providers.Batch) (bool, error) {
	switch op := op.(type) {
	case planner.WriteFile:
		return do.writeFile(op, batch)
	case planner.RemovePath:
		return do.removePath(op)
	case planner.EnsureDirectory:
		return do.ensureDirectory(op)
	case planner.SetAccess:
		return do.setAccess(op)
	case planner.UploadArtifact:
		return do.uploadArtifact(op, batch)
	case planner.Preserve:
		return do.preserve(op)
	case planner.Restore:
		return do.restore(file.Clean(op.Path)), nil
	case planner.Packages:
		return do.m.PackageManager().Change(op)
	case planner.LoadImage:
		return do.loadImage(op, batch)
	case planner.Unit:
		return do.m.Systemd().Act(machine.UnitName(op.Unit), op.Action)
	case planner.RestartProcess:
		return kubelet.On(do.servers, do.m).Restart(op), nil
	case planner.SetSysctl:
		if _, has := do.m.Kernel().Sysctl(op.Name); !has && op.Restore {
			return false, nil
		}
		return do.m.Kernel().SetSysctl(op.Name, op.Value)
	case planner.LoadModule:
		return do.m.Kernel().LoadModule(op.Module, !op.Unload)
	case planner.SystemUser:
		stays := op.Remove && op.Keep == planner.KeepUser
		return !stays && machine.AccountsOf(do.m).Set(op.Name, !op.Remove), nil
	case planner.Swap:
		return do.m.Kernel().ChangeSwap(op), nil
	case planner.RemovePods:
		if machine.LacksRuntime(op.Socket) {
			return false, nil // without a runtime there are none of its pods
		}
		return do.removePods()
	case planner.Unmount:
		return do.unmount(file.Clean(op.Below)), nil
	case planner.RemoveNetwork:
		return do.removeNetwork(op.Links), nil
	case planner.RemoveProxyRules:
		return do.m.ProxyRules().Clear(op.Mode)
	case planner.Mark:
		return do.mark(op), nil
	case planner.SetAsideEtcd:
		return do.setAside(op.DataDir, op.As)
	case planner.RestoreEtcd:
		return do.restoreEtcd(op, batch)
	case planner.TakeBackup:
		return do.takeBackup(op)
	}
	return false, fmt.Errorf("internal error: the simulator does not know operation %s", op.Op())
}

// Interrupt leaves the host as an operation does that is interrupted halfway.
func (do Operations) Interrupt(op planner.Operation) {
	switch op := op.(type) {
	case planner.RemovePath:
		tree := do.m.Tree(file.Clean(op.Path))
		for _, p := range tree[len(tree)/2:] {
			do.m.RemoveOne(p)
		}
	case planner.Packages:
		do.m.PackageManager().Interrupt(op)
	case planner.RemovePods:
		names := slices.Sorted(maps.Keys(do.m.Pods))
		for _, name := range names[:len(names)/2] {
			delete(do.m.Pods, name)
		}
	case planner.Unmount:
		if n := len(do.m.Mounts); n > 0 {
			do.m.Mounts = do.m.Mounts[:n-n/2]
		}
	}
}
