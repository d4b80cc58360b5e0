package machine

import (
	"path"
	"slices"
)

// Images are the images in a machine's runtime.
type Images struct{ m *Machine }

// ImageStore returns the images of the machine's runtime.
func (m *Machine) ImageStore() Images { return Images{m} }

// Has reports whether an image is present.
func (is Images) Has(image string) bool {
	if has, ok := is.m.Images[image]; ok {
		return has
	}
	return is.m.Baseline().images[image]
}

// Set adds an image, or removes it.
func (is Images) Set(image string, present bool) {
	setFlag(&is.m.Images, image, present, is.m.Baseline().images[image])
}

// List returns all images, in order.
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

// LacksRuntime reports whether an endpoint belongs to a runtime that simulated hosts lack:
// of the known runtimes they have only containerd.
func LacksRuntime(socket string) bool {
	return slices.Contains([]string{"crio.sock", "cri-dockerd.sock"}, path.Base(socket))
}
