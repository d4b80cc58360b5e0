package phases

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// install puts the software of a node in place: as packages, or as far as the
// folder of artifacts has it; the rest is found preinstalled. Files of artifacts go where no package
// has its own (/usr/local, /etc/systemd/system), so that those of a
// distribution stay whole beside them and are back when ours go. What is no
// longer wanted stays until the node is reset.
var install = phase{
	name:   installPhase,
	letsGo: anyItem,
	nodeItems: func(n *node) []state.Item {
		if n.awaitsAPI() {
			return nil
		}
		return append(n.software().items(n), n.packageItems()...)
	},
	nodeStep: installStep,
	nodeNeeds: func(n *node) []state.Address {
		if n.turns() {
			return []state.Address{step(n.target, preparePhase), step(n.target, drainPhase)}
		}
		return []state.Address{step(n.target, preparePhase)}
	},
}

// Where the software goes. containerd and runc say so in their guides; kubeadm's
// guide for hosts without packages puts the kubelet beside them.
const (
	programs       = "/usr/local/bin"
	runcProgram    = "/usr/local/sbin/runc"
	cniPrograms    = "/opt/cni/bin"
	containerdUnit = "containerd.service"
	units          = "/etc/systemd/system/"
	kubeletDropIn  = units + "kubelet.service.d/10-kubeadm.conf"
	runtimeConfig  = "/etc/containerd/config.toml"
	runtimeImports = "/etc/containerd/conf.d"
	crictlConfig   = "/etc/crictl.yaml"
)

// part is what of the software a file belongs to, in the words of install.keep.
type part string

const (
	runtimePart part = "runtime"
	kubeletPart part = "kubelet"
	cniPart     part = "cni"
	imagesPart  part = "images"
	// toolsPart is what nothing rests on; it goes with the kubelet.
	toolsPart part = "tools"
)

// installed is one file of the software on a host.
type installed struct {
	path string
	part part
	// artifact and program are where it comes from; content is set instead for
	// files that kubewright writes.
	artifact config.Artifact
	program  config.Program
	content  string
	// digestOnly tells that a file that stood there before may hold secrets, so
	// that it is compared by its digest.
	digestOnly bool
}

// software is all files of a node that install owns.
type software []installed

// software is what the artifacts have for the node, or what goes with packages. With
// packages the artifacts have no programs.
func (n *node) software() software {
	out := n.packageFiles()
	kinds := map[config.ArtifactKind]config.Artifact{}
	for _, a := range n.artifacts() {
		kinds[a.Kind] = a
		for _, p := range a.Programs {
			dir, part := placeOf(a.Kind)
			out = append(out, installed{path: path.Join(dir, p.Name), part: part, artifact: a, program: p})
		}
		if a.Kind == config.ArtifactConfig {
			out = append(out, installed{
				path: path.Join(runtimeImports, path.Base(a.Name)), part: runtimePart, artifact: a,
				program: config.Program{SHA256: a.SHA256}, digestOnly: true,
			})
		}
	}
	if a, ok := kinds[config.ArtifactContainerd]; ok {
		out = append(out,
			installed{path: units + containerdUnit, part: runtimePart, content: containerdService},
			installed{path: runtimeConfig, part: runtimePart, content: containerdConfig(a.Version, kubeadm.PauseImage(n.input()), out.has(runcProgram)), digestOnly: true})
	}
	if out.has(programs + "/kubelet") {
		out = append(out,
			installed{path: units + kubeletUnit, part: kubeletPart, content: kubeletService},
			installed{path: kubeletDropIn, part: kubeletPart, content: kubeletServiceDropIn(programs + "/kubelet")})
	}
	if _, ok := kinds[config.ArtifactCrictl]; ok {
		out = append(out, installed{path: crictlConfig, part: runtimePart, content: n.crictlConfig()})
	}
	return out
}

func (n *node) crictlConfig() string {
	return "runtime-endpoint: " + n.criSocket() + "\nimage-endpoint: " + n.criSocket() + "\n"
}

// bringsRuntime tells that install brings containerd, and so minds its unit.
func (n *node) bringsRuntime() bool {
	return n.packagesBringRuntime() || n.software().has(units+containerdUnit)
}

// artifacts are those for the node's architecture; all while that is not known.
func (n *node) artifacts() []config.Artifact { return n.cluster.Install.Catalog.For(n.facts().Arch) }

func placeOf(k config.ArtifactKind) (dir string, p part) {
	switch k {
	case config.ArtifactKubernetes:
		return programs, kubeletPart
	case config.ArtifactCNI:
		return cniPrograms, cniPart
	case config.ArtifactRunc:
		return path.Dir(runcProgram), runtimePart
	}
	return programs, runtimePart
}

func (s software) has(path string) bool {
	return slices.ContainsFunc(s, func(f installed) bool { return f.path == path })
}

// brings tells that the artifacts have the kind for the node.
func (n *node) brings(k config.ArtifactKind) bool {
	return slices.ContainsFunc(n.artifacts(), func(a config.Artifact) bool { return a.Kind == k })
}

func (s software) items(n *node) []state.Item {
	var out []state.Item
	origin := map[string]state.Source{"": n.installOrigin()}
	for _, f := range s {
		it := f.item(n)
		it.Origin = origin
		out = append(out, it)
	}
	if n.bringsRuntime() {
		out = append(out, state.Item{
			Address: item(n.target, installPhase, "unit", containerdUnit), Kind: state.KindUnit,
			Attributes: attributes("active", "active", "enabled", "enabled"), Origin: origin,
		})
	}
	return out
}

// installOrigin is the line that the software is wanted by.
func (n *node) installOrigin() state.Source {
	if n.cluster.Install.Packages != nil {
		return n.cluster.origin("install.packages")
	}
	return n.cluster.origin("install.artifacts")
}

func (f installed) item(n *node) state.Item {
	switch {
	case f.content != "" && !f.digestOnly:
		return n.fileItem(installPhase, state.KindFile, f.path, "0644", func(*node) []byte { return []byte(f.content) })
	case f.content != "":
		return state.Item{
			Address: item(n.target, installPhase, "file", f.path), Kind: state.KindBinary, Content: []byte(f.content),
			Attributes: attributes("sha256", digestOf(f.content), "mode", "0644", "owner", root),
		}
	case f.digestOnly:
		return state.Item{
			Address: item(n.target, installPhase, "file", f.path), Kind: state.KindBinary,
			Attributes: attributes("sha256", f.program.SHA256, "mode", "0644", "owner", root),
		}
	}
	return state.Item{
		Address: item(n.target, installPhase, "binary", f.path), Kind: state.KindBinary,
		Attributes: attributes("sha256", f.program.SHA256, "mode", "0755", "owner", root),
	}
}

// runs tells that the file is one that a unit runs or reads when it starts.
// runc and containerd's shim are started anew for each container.
func (f installed) runs() bool {
	switch f.path {
	case programs + "/containerd", units + containerdUnit, runtimeConfig, programs + "/kubelet", units + kubeletUnit, kubeletDropIn:
		return true
	}
	return path.Dir(f.path) == runtimeImports
}

// installStep brings what differs, and restarts what runs of it.
func installStep(n *node, w work) planner.Step {
	if !slices.ContainsFunc(w.changes, func(c planner.Change) bool { return w.find(c) != nil }) {
		return planner.Step{}
	}
	i := installation{node: n, marks: n.marks(), touched: map[part]bool{}}
	i.choose(w)
	ops := append([]planner.Operation{i.mark()}, i.keeps...)
	ops = append(ops, i.uploads()...)
	ops = append(ops, i.writes...)
	ops = append(ops, i.packageOperations()...)
	s := planner.Step{Operations: append(ops, i.turnUnits()...), Impact: i.heldNote()}
	if len(i.artifacts) > 0 {
		s.Limits = append(s.Limits, n.cluster.limit(uploadsLimit))
	}
	if n.joins() || !i.restarts() {
		return s
	}
	// A node that runs is told by its kubelet, through the API, to be well again.
	s.Via = n.cluster.seat
	s.Impact = "restarts " + i.restarted() + " here; pods keep running"
	if note := i.heldNote(); note != "" {
		s.Impact += "; " + note
	}
	s.Operations = append(s.Operations, planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: n.cluster.Timeouts.KubeletHealthCheck})
	s.Operations = append(s.Operations, n.readyWait()...)
	if n.isControlPlane() {
		s.Limits = append(s.Limits, n.cluster.limit("control-plane-disruption"))
	}
	return s
}

// awaitsAPI tells that the node's software gets another version when the API answers
// again: an upgrade was cut short while that was stopped, so that nobody can take the
// pods off the node, and its kubelet would be newer than the control plane.
func (n *node) awaitsAPI() bool {
	return n.cluster.report == nil && n.upgrades() && n.cluster.up.raises
}

// uploadsLimit bounds the steps that send artifacts: they share the operator's line.
const (
	uploadsLimit  = "uploads"
	uploadsAtOnce = 4
)

// installation is the changes of one install step as operations.
type installation struct {
	*node
	marks     state.Marks
	keeps     []planner.Operation
	writes    []planner.Operation
	artifacts []planner.UploadArtifact
	list      []planner.Package
	// touched are the parts that have to be restarted where they run.
	touched map[part]bool
}

// choose sorts the changes into what is kept, uploaded, written and installed.
func (i *installation) choose(w work) {
	i.choosePackages(w)
	for _, f := range i.software() {
		c := slices.IndexFunc(w.changes, func(c planner.Change) bool {
			return c.Kind != state.KindUnit && c.Kind != state.KindPackage && c.Address.ID() == f.path && w.find(c) != nil
		})
		if c < 0 {
			continue
		}
		if i.marks.Before[beforeFile+f.path] != "" {
			i.keeps = append(i.keeps, planner.Preserve{Path: f.path})
		}
		if f.runs() {
			i.touched[f.part] = true
		}
		if f.content != "" {
			i.writes = append(i.writes, writeFile(w.find(w.changes[c])))
			continue
		}
		i.add(f)
	}
	if w.concerns(state.KindUnit) {
		i.touched[runtimePart] = true
	}
}

// add has a file sent with the others of its artifact.
func (i *installation) add(f installed) {
	mode := "0755"
	if f.artifact.Kind == config.ArtifactConfig {
		mode = "0644"
	}
	file := planner.ArtifactFile{Member: f.program.Member, Path: f.path, Mode: mode, SHA256: f.program.SHA256}
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

// turnUnits starts or restarts what is touched. A kubelet that has not joined
// is kubelet-start's to start.
func (i *installation) turnUnits() []planner.Operation {
	var out []planner.Operation
	if i.touched[runtimePart] && i.bringsRuntime() {
		out = append(out,
			planner.Unit{Unit: containerdUnit, Action: "enable"},
			planner.Unit{Unit: containerdUnit, Action: "restart", Reload: true})
	}
	if i.restartsKubelet() {
		out = append(out, planner.Unit{Unit: kubeletUnit, Action: "restart", Reload: true})
	}
	return out
}

func (i *installation) restarts() bool { return i.touched[runtimePart] || i.restartsKubelet() }

// restartsKubelet tells that a kubelet of the same version goes on with other
// files. One of another version is started with its configuration, by kubelet-start.
func (i *installation) restartsKubelet() bool {
	return i.touched[kubeletPart] && !i.joins() && !i.turns()
}

func (i *installation) restarted() string {
	var out []string
	if i.touched[runtimePart] {
		out = append(out, "containerd")
	}
	if i.restartsKubelet() {
		out = append(out, "the kubelet")
	}
	return strings.Join(out, " and ")
}
