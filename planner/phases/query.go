package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Queries says what to look at on each host of the configuration and of the
// state: everything that desired or recorded speaks of, the traces of other
// clusters, and, for a host that is not known to be ours yet or that becomes a control
// plane, what preflight needs.
func Queries(cfg *config.Config, recorded *state.State) map[state.Target]state.Query {
	v := &View{Config: cfg, Recorded: recorded, pathsOnly: true}
	v.resolve()
	out := map[state.Target]state.Query{}
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			out[n.target] = n.query()
		}
	}
	if recorded == nil {
		return out
	}
	for t, n := range recorded.Nodes {
		if _, configured := out[t]; !configured {
			q := baseQuery(n.Role == string(config.ControlPlane))
			addItems(&q, recordedItems(recorded, t))
			v.leaverOf(t).identityQuery(&q)
			q.Programs = n.Programs
			out[t] = normal(q)
		}
	}
	return out
}

func (n *node) query() state.Query {
	q := baseQuery(n.isControlPlane())
	q.CRISocket = n.CRISocket
	c := n.cluster
	if n.isControlPlane() && c.Etcd.External == nil {
		for _, name := range []string{"ca.crt", "healthcheck-client.crt", "healthcheck-client.key"} {
			q.Secrets = append(q.Secrets, c.Certificates.Dir+"/etcd/"+name)
		}
		q.Files = append(q.Files, state.FileQuery{Path: n.etcdData()}, state.FileQuery{Path: n.restoredData(), Read: state.ReadContent})
	}
	if n.isControlPlane() {
		n.keyRotationQuery(&q)
	}
	n.readersQuery(&q)
	q.Files = append(q.Files, state.FileQuery{Path: bootstrapConf})
	c.rotationQuery(&q, n.isControlPlane())
	for _, p := range slices.Concat(n.foldersBefore(), n.pkiFoldersAround()) {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	for _, v := range n.demandedVolumes() {
		q.Files = append(q.Files, state.FileQuery{Path: v.HostPath})
	}
	// Which paths are wanted does not depend on facts; their content does. A control
	// plane may be the one that founds the cluster.
	c.seat = n.target
	if n.isControlPlane() {
		c.founding = true
		addItems(&q, n.desired())
	}
	c.founding = false
	addItems(&q, n.desired())
	n.packagesQuery(&q)
	recorded := c.view.Recorded
	if q.Preflight = !c.view.recordedNode(n.target); !q.Preflight {
		q.Programs = recorded.Nodes[n.target].Programs
	}
	if q.Preflight || n.turnsPlane() {
		n.preflightQuery(&q)
	}
	if recorded != nil {
		addItems(&q, recordedItems(recorded, n.target))
	}
	n.certificatesQuery(&q)
	return normal(q)
}

// preflightQuery adds what only the checks of a host that joins, or joins as a control
// plane that was none, want to know.
func (n *node) preflightQuery(q *state.Query) {
	q.Units = append(q.Units, firewalldUnit)
	q.Ports = append(q.Ports, n.ports()...)
	paths := n.etcdClientPaths()
	if n == n.cluster.nodes[0] {
		// Through the first control plane an external etcd is looked at before anything
		// is founded on it.
		q.Secrets = append(q.Secrets, paths...)
	}
	if n.CRISocket != "" {
		paths = append(paths, socketPath(n.CRISocket))
	}
	for _, p := range append(paths, n.softwareFolders()...) {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	if on, _ := n.kubeletFlag("protectKernelDefaults"); on {
		q.Sysctls = append(q.Sysctls, sortedNames(kernelDefault)...)
	}
}

// recordedItems are those of one target. Items are sorted by address, and those
// of a target stand together behind TARGET/.
func recordedItems(recorded *state.State, t state.Target) []state.Item {
	prefix := t.String() + "/"
	from, _ := slices.BinarySearchFunc(recorded.Items, prefix, func(it state.Item, p string) int {
		return strings.Compare(it.Address.String(), p)
	})
	to := from
	for to < len(recorded.Items) && recorded.Items[to].Address.Target == t {
		to++
	}
	return recorded.Items[from:to]
}

func baseQuery(controlPlane bool) state.Query {
	q := state.Query{
		Units: []string{kubeletUnit, containerdUnit}, Commands: slices.Concat(requiredCommands, installCommands), Sysctls: slices.Clone(sysctlsOfOthers),
	}
	for _, p := range tracesOfCluster {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	q.Globs = []string{cniConfigs + "/*"}
	for _, p := range installFolders {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	q.Files = append(q.Files, state.FileQuery{Path: kubeletClientCert, Read: state.ReadCertificate})
	if controlPlane {
		q.Files = append(q.Files, state.FileQuery{Path: planner.RestoredMark, Read: state.ReadContent})
		q.Secrets = []string{adminConf, superAdminConf}
	}
	return q
}

// reads says what of a file each kind of item needs.
var reads = map[state.Kind]state.Read{
	state.KindFile: state.ReadContent, state.KindYAMLFile: state.ReadContent,
	state.KindEnvFile: state.ReadContent, state.KindStaticPod: state.ReadContent,
	state.KindKubeconfig: state.ReadKubeconfig,
	state.KindBinary:     state.ReadDigest,
	state.KindDirectory:  state.ReadStat, state.KindKey: state.ReadStat,
}

// certificateFile is the path of a certificate: that of a pair BASE.crt and
// BASE.key is addressed by BASE, one by itself as the file that it is.
func certificateFile(it *state.Item) string {
	if it.Address.Class() == "certificate" {
		return it.Address.ID() + ".crt"
	}
	return it.Address.ID()
}

func addItems(q *state.Query, items []state.Item) {
	for i := range items {
		it := &items[i]
		id := it.Address.ID()
		switch it.Kind {
		case state.KindCertificate:
			q.Files = append(q.Files, state.FileQuery{Path: certificateFile(it), Read: state.ReadCertificate})
			if it.Address.Class() == "certificate" {
				q.Files = append(q.Files, state.FileQuery{Path: id + ".key", Read: state.ReadKey})
			}
		case state.KindUnit:
			q.Units = append(q.Units, id)
		case state.KindSysctl:
			q.Sysctls = append(q.Sysctls, id)
		case state.KindModule:
			q.Modules = append(q.Modules, id)
		case state.KindImage:
			q.Images = true
		case state.KindPackage:
			q.Packages.Names = append(q.Packages.Names, id)
		default:
			if read, ok := reads[it.Kind]; ok {
				q.Files = append(q.Files, state.FileQuery{Path: id, Read: read})
			}
		}
	}
}

// rank orders what of a file is wanted: a path asked for twice is read as the
// one who wants more of it asks.
var rank = map[state.Read]int{
	state.ReadStat: 0, state.ReadDigest: 1, state.ReadKey: 2, state.ReadContent: 3, state.ReadPublicKeys: 4, state.ReadKubeconfig: 5, state.ReadCertificate: 6,
}

func normal(q state.Query) state.Query {
	want := map[string]state.Read{}
	for _, f := range q.Files {
		if r, ok := want[f.Path]; !ok || rank[f.Read] > rank[r] {
			want[f.Path] = f.Read
		}
	}
	q.Files = nil
	for path, read := range want {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: read})
	}
	slices.SortFunc(q.Files, func(a, b state.FileQuery) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	slices.SortFunc(q.Processes, func(a, b state.Process) int { return strings.Compare(a.Name, b.Name) })
	for _, list := range []*[]string{&q.Units, &q.Sysctls, &q.Modules, &q.Secrets, &q.Packages.Names} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(q.Ports)
	q.Ports = slices.Compact(q.Ports)
	return q
}
