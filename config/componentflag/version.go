package componentflag

import "strconv"

// The minor versions of Kubernetes 1 that kubewright supports.
const (
	MinMinor = 34
	MaxMinor = 37
)

// all are the minor versions that the word all in a table stands for.
var all = supported()

func supported() []string {
	out := make([]string, 0, MaxMinor-MinMinor+1)
	for minor := MinMinor; minor <= MaxMinor; minor++ {
		out = append(out, strconv.Itoa(minor))
	}
	return out
}
