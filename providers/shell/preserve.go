package shell

import (
	_ "embed" // the script
	"path"

	"github.com/kubewright/kubewright/planner"
)

//go:embed scripts/preserve.sh
var preserveScript string

// preserved returns the arguments that say where a host keeps what was at a path: the path, its name
// below the folder of copies, the ID of its record, and the folders around it with theirs, the innermost
// first.
func (c *compiler) preserved(p string) []string {
	out := []string{c.root + p, p, planner.PreservedID(p)}
	for dir := path.Dir(p); path.Dir(dir) != dir; dir = path.Dir(dir) {
		out = append(out, c.root+dir, planner.PreservedID(dir))
	}
	return out
}
