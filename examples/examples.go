// Package examples holds complete configurations, one in each folder. They are embedded, so that
// kubewright init -example can write one into a new folder.
package examples

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed */main.hcl external-ca/ca.sh many-workers/workers.yaml
var embedded embed.FS

// An Example is a configuration to begin with.
type Example struct {
	// Name selects it on the command line.
	Name string
	// Folder is its folder here.
	Folder string
	// Title says in a few words what it describes.
	Title string
	// Needs is one or more sentences that say what has to be added before the first plan; empty if
	// nothing.
	Needs string
}

// All returns the examples, the simplest first.
func All() []Example {
	return []Example{
		{Name: "quickstart", Folder: "quickstart", Title: "five simulated hosts, to try kubewright with"},
		{Name: "single", Folder: "single-node", Title: "one machine that also runs pods"},
		{Name: "ha", Folder: "ha-stacked", Title: "three control planes with etcd, and workers in two pools"},
		{Name: "many-workers", Folder: "many-workers", Title: "workers from an inventory in a file of its own"},
		{Name: "dual-stack", Folder: "dual-stack", Title: "IPv4 and IPv6 side by side"},
		{
			Name: "air-gapped", Folder: "air-gapped", Title: "bare hosts without access to the internet",
			Needs: "Make the folder artifacts, with kubewright bundle on a machine that has access to the internet.",
		},
		{
			Name: "external-etcd", Folder: "external-etcd", Title: "an etcd that you run",
			Needs: "Bring etcd/ca.crt and etcd/client.crt, and the client's key in KUBEWRIGHT_VAR_etcd_client_key.",
		},
		{
			Name: "external-ca", Folder: "external-ca", Title: "a CA of yours, whose key stays with you",
			Needs: "Bring ca.crt, and its key in KUBEWRIGHT_VAR_ca_key. To try it, ca.sh makes both.",
		},
		{
			Name: "external-ca-keyless", Folder: "external-ca-keyless", Title: "a CA whose key you do not have",
			Needs: "Bring ca.crt, and in the folder supplied what its owner has signed for each node: a plan lists what is missing.",
		},
	}
}

// Find returns the example with a name, or with the name of its folder.
func Find(name string) (Example, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Example) bool { return e.Name == name || e.Folder == name })
	if i < 0 {
		return Example{}, false
	}
	return all[i], true
}

// Names returns the names of the examples, the simplest first.
func Names() []string {
	var out []string
	for _, e := range All() {
		out = append(out, e.Name)
	}
	return out
}

// Files returns the files of the example.
func (e Example) Files() (fs.FS, error) { return fs.Sub(embedded, e.Folder) }

// Hint returns what to say where a folder has no configuration: how to begin with an example.
func Hint() string {
	return "To begin with an example, run in an empty folder\n\n  kubewright init -example=NAME\n\nwith one of these names: " + strings.Join(Names(), ", ") + "."
}
