package machine

import (
	"path"
	"slices"
)

// Images are those that a machine's runtime holds.
type Images struct{ m *Machine }

func (m *Machine) ImageStore() Images { return Images{m} }

func (is Images) Has(image string) bool {
	if has, ok := is.m.Images[image]; ok {
		return has
	}
	return is.m.Baseline().images[image]
}

func (is Images) Set(image string, present bool) {
	setFlag(&is.m.Images, image, present, is.m.Baseline().images[image])
}

func (is Images) List() []string {
	var out []string
	for image := range is.m.Baseline().images {
		if is.Has(image) {
			out = append(out, image)
		}
	}
	for image, present := range is.m.Images {
		if present && !is.m.Baseline().images[image] {
			out = append(out, image)
		}
	}
	slices.Sort(out)
	return out
}

// LacksRuntime reports whether an endpoint is that of a runtime which simulated hosts do not have:
// of those that are known by their sockets they have containerd alone.
func LacksRuntime(socket string) bool {
	return slices.Contains([]string{"crio.sock", "cri-dockerd.sock"}, path.Base(socket))
}
