package operation

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

func (do Operations) loadImage(op planner.LoadImage, batch providers.Batch) (bool, error) {
	if machine.LacksRuntime(op.Socket) || !do.m.Systemd().Active("containerd") {
		return false, do.m.CommandError("load image "+op.Image, 1, "connect: no such file or directory: "+op.Socket)
	}
	missing := slices.DeleteFunc(append([]string{op.Image}, op.Others...), func(i string) bool { return do.m.ImageStore().Has(i) })
	if len(missing) == 0 && (op.Artifact != "" || op.Policy != "Always") {
		return false, nil
	}
	switch {
	case op.Artifact == "" && op.Policy == "Never":
		return false, do.m.CommandError("find image "+missing[0], 1, missing[0]+": not present, and the policy is Never")
	case op.Artifact == "" && do.m.Conditions.NoRegistry:
		return false, do.m.CommandError("pull image "+op.Image, 1, "failed to pull and unpack image "+op.Image+": dial tcp: i/o timeout\n"+providers.NotPulled)
	case do.m.Conditions.DiskFull:
		return false, do.m.CommandError("load image "+op.Image, 1, "no space left on device")
	}
	if op.Artifact != "" {
		if _, err := receive(op.Artifact, op.SHA256, batch); err != nil {
			return false, do.m.CommandError("load image "+op.Image, 1, err.Error())
		}
	}
	for _, i := range missing {
		do.m.ImageStore().Set(i, true)
	}
	do.servers.Advance(machine.TimeImage)
	return len(missing) > 0, nil
}
