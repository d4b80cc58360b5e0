package host

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Install installs the software of a node: as packages, or as far as the folder of artifacts has
// it; the rest has to be preinstalled. Files of artifacts go where no package has its own
// (/usr/local, /etc/systemd/system): a distribution's files stay intact beside them and take effect
// again when ours are removed. Software that is no longer desired stays until the node is reset.
var Install = topology.Phase{
	Name:    topology.InstallPhase,
	Retains: anyItem,
	NodeItems: func(n *topology.Node) []state.Item {
		if awaitsAPI(n) {
			return nil
		}
		return append(Software(n).items(n), packageItems(n)...)
	},
	NodeStep: installStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		if pki.KubeletChanges(n) {
			return []state.Address{topology.StepAddress(n.Target, topology.PreparePhase), topology.StepAddress(n.Target, topology.DrainPhase)}
		}
		return []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
	},
}

// Paths of the software. containerd's and runc's guides use them; kubeadm's guide for hosts without
// packages puts the kubelet in the same folder.
const (
	Programs       = "/usr/local/bin"
	runcProgram    = "/usr/local/sbin/runc"
	cniPrograms    = "/opt/cni/bin"
	ContainerdUnit = "containerd.service"
	Units          = "/etc/systemd/system/"
	kubeletDropIn  = Units + "kubelet.service.d/10-kubeadm.conf"
	RuntimeConfig  = "/etc/containerd/config.toml"
	runtimeImports = "/etc/containerd/conf.d"
	crictlConfig   = "/etc/crictl.yaml"
)

// Installed is one file of the software on a host.
type Installed struct {
	Path string
	part topology.Part
	// artifact and program are the file's source; files that kubewright writes itself have content
	// instead.
	artifact config.Artifact
	Program  config.Program
	content  string
	// digestOnly reports whether a file that was there before may hold secrets: it is compared by
	// its digest only.
	digestOnly bool
}

// software is the list of all files of a node that install owns.
type software []Installed

// Software returns the files that the artifacts have for the node, or those that accompany
// packages: with packages the artifacts have no programs.
func Software(n *topology.Node) software {
	out := packageFiles(n)
	kinds := map[config.ArtifactKind]config.Artifact{}
	for _, a := range Artifacts(n) {
		kinds[a.Kind] = a
		for _, p := range a.Programs {
			dir, part := placeOf(a.Kind)
			out = append(out, Installed{Path: path.Join(dir, p.Name), part: part, artifact: a, Program: p})
		}
		if a.Kind == config.ArtifactConfig {
			out = append(out, Installed{
				Path: path.Join(runtimeImports, path.Base(a.Name)), part: topology.RuntimePart, artifact: a,
				Program: config.Program{SHA256: a.SHA256}, digestOnly: true,
			})
		}
	}
	if a, ok := kinds[config.ArtifactContainerd]; ok {
		out = append(out,
			Installed{Path: Units + ContainerdUnit, part: topology.RuntimePart, content: containerdService},
			Installed{Path: RuntimeConfig, part: topology.RuntimePart, content: containerdConfig(a.Version, kubeadm.PauseImage(n.Input()), out.Has(runcProgram)), digestOnly: true})
	}
	if out.Has(Programs + "/kubelet") {
		out = append(out,
			Installed{Path: Units + topology.KubeletUnit, part: topology.KubeletPart, content: kubeletService},
			Installed{Path: kubeletDropIn, part: topology.KubeletPart, content: kubeletServiceDropIn(Programs + "/kubelet")})
	}
	if _, ok := kinds[config.ArtifactCrictl]; ok {
		out = append(out, Installed{Path: crictlConfig, part: topology.RuntimePart, content: nodeCrictlConfig(n)})
	}
	return out
}

func nodeCrictlConfig(n *topology.Node) string {
	return "runtime-endpoint: " + n.RuntimeSocket() + "\nimage-endpoint: " + n.RuntimeSocket() + "\n"
}

// bringsRuntime reports whether install provides containerd, and so manages its unit.
func bringsRuntime(n *topology.Node) bool {
	return PackagesBringRuntime(n) || Software(n).Has(Units+ContainerdUnit)
}

// Artifacts returns the artifacts for the node's architecture; all of them while it is unknown.
func Artifacts(n *topology.Node) []config.Artifact {
	return n.Cluster.Install.Catalog.For(n.Facts().Arch)
}

func placeOf(k config.ArtifactKind) (dir string, p topology.Part) {
	switch k {
	case config.ArtifactKubernetes:
		return Programs, topology.KubeletPart
	case config.ArtifactCNI:
		return cniPrograms, topology.CNIPart
	case config.ArtifactRunc:
		return path.Dir(runcProgram), topology.RuntimePart
	}
	return Programs, topology.RuntimePart
}

func (s software) Has(path string) bool {
	return slices.ContainsFunc(s, func(f Installed) bool { return f.Path == path })
}

// HasArtifact reports whether the artifacts have the kind for the node.
func HasArtifact(n *topology.Node, k config.ArtifactKind) bool {
	return slices.ContainsFunc(Artifacts(n), func(a config.Artifact) bool { return a.Kind == k })
}

func (s software) items(n *topology.Node) []state.Item {
	var out []state.Item
	origin := map[string]state.Source{"": installOrigin(n)}
	for _, f := range s {
		it := f.item(n)
		it.Origin = origin
		out = append(out, it)
	}
	if bringsRuntime(n) {
		out = append(out, state.Item{
			Address: topology.ItemAddress(n.Target, topology.InstallPhase, "unit", ContainerdUnit), Kind: state.KindUnit,
			Attributes: topology.Attributes("active", "active", "enabled", "enabled"), Origin: origin,
		})
	}
	return out
}

// installOrigin returns the setting that asks for the software.
func installOrigin(n *topology.Node) state.Source {
	if n.Cluster.Install.Packages != nil {
		return provenance.ClusterOrigin(n.Cluster, "install.packages")
	}
	return provenance.ClusterOrigin(n.Cluster, "install.artifacts")
}

func (f Installed) item(n *topology.Node) state.Item {
	switch {
	case f.content != "" && !f.digestOnly:
		return FileItem(n, topology.InstallPhase, state.KindFile, f.Path, "0644", func(*topology.Node) []byte { return []byte(f.content) })
	case f.content != "":
		return state.Item{
			Address: topology.ItemAddress(n.Target, topology.InstallPhase, "file", f.Path), Kind: state.KindBinary, Content: []byte(f.content),
			Attributes: topology.Attributes("sha256", digestOf(f.content), "mode", "0644", "owner", topology.Root),
		}
	case f.digestOnly:
		return state.Item{
			Address: topology.ItemAddress(n.Target, topology.InstallPhase, "file", f.Path), Kind: state.KindBinary,
			Attributes: topology.Attributes("sha256", f.Program.SHA256, "mode", "0644", "owner", topology.Root),
		}
	}
	return state.Item{
		Address: topology.ItemAddress(n.Target, topology.InstallPhase, "binary", f.Path), Kind: state.KindBinary,
		Attributes: topology.Attributes("sha256", f.Program.SHA256, "mode", "0755", "owner", topology.Root),
	}
}

// Runs reports whether a unit runs the file or reads it at its start. runc and containerd's shim
// start again for each container.
func (f Installed) Runs() bool {
	switch f.Path {
	case Programs + "/containerd", Units + ContainerdUnit, RuntimeConfig, Programs + "/kubelet", Units + topology.KubeletUnit, kubeletDropIn:
		return true
	}
	return path.Dir(f.Path) == runtimeImports
}

// installStep installs what differs, and restarts the units that run it.
func installStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if !slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return w.Find(c) != nil }) {
		return planner.Step{}
	}
	i := installation{Node: n, marks: marks(n), touched: map[topology.Part]bool{}}
	i.choose(w)
	ops := append([]planner.Operation{mark(i.Node)}, i.keeps...)
	ops = append(ops, i.uploads()...)
	ops = append(ops, i.writes...)
	ops = append(ops, i.packageOperations()...)
	s := planner.Step{Operations: append(ops, i.turnUnits()...), Impact: i.heldNote()}
	if len(i.artifacts) > 0 {
		s.Limits = append(s.Limits, n.Cluster.Limit(UploadsLimit))
	}
	if n.Joins() || !i.restarts() {
		return s
	}
	// On a running node the kubelet reports through the API that the node is Ready again.
	s.Via = n.Cluster.Primary
	s.Impact = "restarts " + i.restarted() + " here; pods keep running"
	if note := i.heldNote(); note != "" {
		s.Impact += "; " + note
	}
	s.Operations = append(s.Operations, pki.HealthWait(n)...)
	s.Operations = append(s.Operations, pki.ReadyWait(n)...)
	if n.IsControlPlane() {
		s.Limits = append(s.Limits, n.Cluster.Limit("control-plane-disruption"))
	}
	return s
}

// awaitsAPI reports whether the node's software gets another version only when the API answers
// again: an upgrade was interrupted while the API server was stopped. The node cannot be drained
// meanwhile, and its kubelet would be newer than the control plane.
func awaitsAPI(n *topology.Node) bool {
	return n.Cluster.Report == nil && n.Upgrades() && n.Cluster.Up.Raises
}

// UploadsLimit bounds the steps that send artifacts: they share the operator's network link.
const (
	UploadsLimit  = "uploads"
	UploadsAtOnce = 4
)

// installation collects the changes of one install step as operations.
type installation struct {
	*topology.Node
	marks     state.Marks
	keeps     []planner.Operation
	writes    []planner.Operation
	artifacts []planner.UploadArtifact
	list      []planner.Package
	// touched are the parts that have to be restarted if they run.
	touched map[topology.Part]bool
}

// choose sorts the changes into files to preserve, upload and write, and packages to install.
func (i *installation) choose(w topology.PhaseWork) {
	i.choosePackages(w)
	for _, f := range Software(i.Node) {
		c := slices.IndexFunc(w.Changes, func(c planner.Change) bool {
			return c.Kind != state.KindUnit && c.Kind != state.KindPackage && c.Address.ID() == f.Path && w.Find(c) != nil
		})
		if c < 0 {
			continue
		}
		if i.marks.Before[beforeFile+f.Path] != "" {
			i.keeps = append(i.keeps, planner.Preserve{Path: f.Path})
		}
		if f.Runs() {
			i.touched[f.part] = true
		}
		if f.content != "" {
			i.writes = append(i.writes, WriteFile(w.Find(w.Changes[c])))
			continue
		}
		i.add(f)
	}
	if w.Concerns(state.KindUnit) {
		i.touched[topology.RuntimePart] = true
	}
}

// add sends a file together with the others of its artifact.
func (i *installation) add(f Installed) {
	mode := "0755"
	if f.artifact.Kind == config.ArtifactConfig {
		mode = "0644"
	}
	file := planner.ArtifactFile{Member: f.Program.Member, Path: f.Path, Mode: mode, SHA256: f.Program.SHA256}
	for k := range i.artifacts {
		if i.artifacts[k].Artifact == f.artifact.Name {
			i.artifacts[k].Files = append(i.artifacts[k].Files, file)
			return
		}
	}
	i.artifacts = append(i.artifacts, planner.UploadArtifact{Artifact: f.artifact.Name, SHA256: f.artifact.SHA256, Files: []planner.ArtifactFile{file}})
}

func (i *installation) uploads() []planner.Operation {
	var out []planner.Operation
	for _, u := range i.artifacts {
		out = append(out, u)
	}
	return out
}

// turnUnits starts or restarts the units of touched parts. kubelet-start starts a kubelet that has
// not joined.
func (i *installation) turnUnits() []planner.Operation {
	var out []planner.Operation
	if i.touched[topology.RuntimePart] && bringsRuntime(i.Node) {
		out = append(out,
			planner.Unit{Unit: ContainerdUnit, Action: "enable"},
			planner.Unit{Unit: ContainerdUnit, Action: "restart", Reload: true})
	}
	if i.restartsKubelet() {
		out = append(out, planner.Unit{Unit: topology.KubeletUnit, Action: "restart", Reload: true})
	}
	return out
}

func (i *installation) restarts() bool { return i.touched[topology.RuntimePart] || i.restartsKubelet() }

// restartsKubelet reports whether a kubelet of unchanged version has to restart for other files.
// kubelet-start starts one of another version, together with its configuration.
func (i *installation) restartsKubelet() bool {
	return i.touched[topology.KubeletPart] && !i.Joins() && !pki.KubeletChanges(i.Node)
}

func (i *installation) restarted() string {
	var out []string
	if i.touched[topology.RuntimePart] {
		out = append(out, "containerd")
	}
	if i.restartsKubelet() {
		out = append(out, "the kubelet")
	}
	return strings.Join(out, " and ")
}
