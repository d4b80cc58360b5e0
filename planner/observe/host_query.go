package observe

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Queries returns the query of each host of the configuration and of the state: everything that is
// desired or recorded there, traces of other clusters, and the needs of the preflight checks for a
// host that is not known to be kubewright's yet or becomes a control plane.
func Queries(cfg *config.Config, recorded *state.State) map[state.Target]state.Query {
	v := resolve.NewFleet(&topology.Fleet{Config: cfg, Recorded: recorded})
	out := map[state.Target]state.Query{}
	for _, c := range v.Clusters {
		for _, n := range joined(c).Nodes {
			var founded []state.Item
			if n.IsControlPlane() {
				founded = phases.Desired(c.WithSituation(c.WithPrimary(n.Target, true)).Node(n.Target))
				n = c.WithSituation(c.WithPrimary(n.Target, false)).Node(n.Target)
			}
			out[n.Target] = query(n, founded)
		}
	}
	if recorded == nil {
		return out
	}
	for t, n := range recorded.Nodes {
		if _, configured := out[t]; !configured {
			q := baseQuery(n.Role == string(config.ControlPlane))
			addItems(&q, topology.RecordedItems(recorded, t))
			identityQuery(v.DepartureOf(t), &q)
			q.Programs = n.Programs
			out[t] = NormalQuery(q)
		}
	}
	return out
}

// joined returns a running cluster, with its first control plane as the primary.
func joined(c *topology.Cluster) *topology.Cluster {
	if planes := c.ControlPlanes(); len(planes) > 0 {
		return c.WithSituation(c.WithPrimary(planes[0].Target, false))
	}
	return c
}

// query returns the query of a node's host. Any control plane may be the one that bootstraps the
// cluster: founded are the items that are desired on it then.
func query(n *topology.Node, founded []state.Item) state.Query {
	q := baseQuery(n.IsControlPlane())
	q.CRISocket = n.CRISocket
	c := n.Cluster
	if n.IsControlPlane() && c.Etcd.External == nil {
		for _, name := range []string{"ca.crt", "healthcheck-client.crt", "healthcheck-client.key"} {
			q.Secrets = append(q.Secrets, c.Certificates.Dir+"/etcd/"+name)
		}
		q.Files = append(q.Files, state.FileQuery{Path: n.EtcdData()}, state.FileQuery{Path: RestoredData(n), Read: state.ReadContent})
	}
	if n.IsControlPlane() {
		q.Files = append(q.Files, state.FileQuery{Path: c.CAFile(), Read: state.ReadAuthority})
		keyRotationQuery(n, &q)
		q.Files = append(q.Files, state.FileQuery{Path: atrest.Path, Read: state.ReadEncryption})
	}
	staticpod.ReadersQuery(n, &q)
	q.Files = append(q.Files, state.FileQuery{Path: topology.BootstrapConf})
	rotationQuery(c, &q, n.IsControlPlane())
	for _, p := range slices.Concat(host.FoldersBefore(n), pki.PKIFoldersAround(n)) {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	for _, v := range preflight.DemandedVolumes(n) {
		q.Files = append(q.Files, state.FileQuery{Path: v.HostPath})
	}
	// The wanted paths do not depend on facts, only their content does.
	addItems(&q, founded)
	addItems(&q, phases.Desired(n))
	host.PackagesQuery(n, &q)
	host.HostFilesQuery(n, &q)
	kubelet.UnitFilesQuery(n, &q)
	preflight.BackupQuery(n, &q)
	recorded := c.Fleet.Recorded
	if q.Preflight = !c.Fleet.RecordedNode(n.Target); !q.Preflight {
		q.Programs = recorded.Nodes[n.Target].Programs
	}
	if q.Preflight {
		q.Endpoint = preflight.EndpointName(c)
		q.Peers, q.PathTo = preflight.Peers(n), preflight.PathTo(n)
		q.EtcdFolder = n.EtcdFolder()
	}
	if q.Preflight || preflight.BecomesControlPlane(n) {
		preflightQuery(n, &q)
	}
	if recorded != nil {
		addItems(&q, topology.RecordedItems(recorded, n.Target))
		host.PreservedQuery(topology.RecordedItems(recorded, n.Target), &q)
	}
	pki.CertificatesQuery(n, &q)
	return NormalQuery(q)
}

// preflightQuery adds what only the checks of a host need that joins, or that becomes a control
// plane.
func preflightQuery(n *topology.Node, q *state.Query) {
	q.Units = append(q.Units, preflight.FirewalldUnit)
	q.Ports = append(q.Ports, preflight.Ports(n)...)
	paths := preflight.EtcdClientPaths(n)
	if n == n.Cluster.Nodes[0] {
		// An external etcd is queried through the first control plane before a cluster is
		// bootstrapped on it.
		q.Secrets = append(q.Secrets, paths...)
	}
	if n.CRISocket != "" {
		paths = append(paths, preflight.SocketPath(n.CRISocket))
	}
	for _, p := range append(paths, preflight.SoftwareFolders(n)...) {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	if on, _ := host.KubeletFlag(n, "protectKernelDefaults"); on {
		q.Sysctls = append(q.Sysctls, host.SortedNames(preflight.KernelDefault)...)
	}
}

func baseQuery(controlPlane bool) state.Query {
	q := state.Query{
		Units: []string{topology.KubeletUnit, host.ContainerdUnit}, Commands: slices.Concat(preflight.RequiredCommands, preflight.InstallCommands), Sysctls: slices.Clone(host.SysctlsOfOthers),
	}
	for _, p := range topology.TracesOfCluster {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	q.Globs = []string{topology.CNIConfigs + "/*"}
	for _, p := range host.InstallFolders {
		q.Files = append(q.Files, state.FileQuery{Path: p})
	}
	q.Files = append(q.Files, state.FileQuery{Path: topology.KubeletClientCert, Read: state.ReadCertificate})
	if controlPlane {
		q.Files = append(q.Files, state.FileQuery{Path: planner.RestoredMark, Read: state.ReadContent})
		q.Secrets = []string{topology.AdminConf, pki.SuperAdminConf}
	}
	return q
}

// reads says how to read the file of each kind of item.
var reads = map[state.Kind]state.Read{
	state.KindFile: state.ReadContent, state.KindYAMLFile: state.ReadContent,
	state.KindEnvFile: state.ReadContent, state.KindStaticPod: state.ReadContent,
	state.KindKubeconfig: state.ReadKubeconfig,
	state.KindBinary:     state.ReadDigest,
	state.KindDirectory:  state.ReadStat, state.KindKey: state.ReadStat, state.KindEncryption: state.ReadEncryption,
}

// certificateFile returns the path of a certificate: a pair BASE.crt and BASE.key is addressed by
// BASE, a single certificate by its file.
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
		case state.KindUser:
			q.Users = append(q.Users, id)
		case state.KindImage:
			q.Images = true
		case state.KindPackage:
			q.Packages.Names = append(q.Packages.Names, id)
		default:
			if read, ok := reads[it.Kind]; ok {
				q.Files = append(q.Files, state.FileQuery{Path: id, Read: read})
				if dir := host.DropInFolder(id); dir != "" {
					q.Files = append(q.Files, state.FileQuery{Path: dir})
				}
			}
		}
	}
}

// rank orders the ways to read a file: a path that is queried twice is read in the way with the
// higher rank.
var rank = map[state.Read]int{
	state.ReadStat: 0, state.ReadDigest: 1, state.ReadKey: 2, state.ReadContent: 3, state.ReadPublicKeys: 4, state.ReadKubeconfig: 5, state.ReadCertificate: 6, state.ReadAuthority: 7, state.ReadEncryption: 8,
}

// NormalQuery returns the query sorted and without duplicates.
func NormalQuery(q state.Query) state.Query {
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
	for _, list := range []*[]string{&q.Units, &q.Sysctls, &q.Modules, &q.Users, &q.Secrets, &q.Packages.Names} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(q.Ports)
	q.Ports = slices.Compact(q.Ports)
	return q
}

// CABase returns the path of the CA of the departing node's cluster without .crt and .key: if the
// block is gone, that of the recorded CA that is not below another folder.
func CABase(l topology.Departure) string {
	if l.Cluster != nil {
		return l.Cluster.CABase()
	}
	base := ""
	for _, it := range topology.RecordedItems(l.Recorded, l.Target) {
		if it.Kind != state.KindCertificate {
			continue
		}
		if b, ok := strings.CutSuffix(certificateFile(&it), ".crt"); ok && strings.HasSuffix(b, "/ca") && (base == "" || len(b) < len(base)) {
			base = b
		}
	}
	return cmp.Or(base, topology.KubeadmPKI+"/ca")
}

// identityQuery queries the files that show to which cluster the departing node's host belongs.
func identityQuery(l topology.Departure, q *state.Query) {
	base := CABase(l)
	for _, path := range []string{base + ".crt", topology.OldFile(base), topology.ExpiredFile(base)} {
		q.Files = append(q.Files, state.FileQuery{Path: path, Read: state.ReadCertificate})
	}
	q.Files = append(q.Files, state.FileQuery{Path: topology.KubeletConf, Read: state.ReadKubeconfig})
}

// rotationQuery queries the files of rotations, and whether the kubelet has read its current
// kubeconfig.
func rotationQuery(c *topology.Cluster, q *state.Query, controlPlane bool) {
	q.Processes = append(q.Processes, pki.KubeletProcess)
	if !controlPlane {
		return
	}
	for _, a := range c.Authorities {
		q.Files = append(q.Files, state.FileQuery{Path: pki.ExpiredFile(a), Read: state.ReadCertificate})
		for _, p := range pki.RotationPaths(a) {
			read := state.ReadCertificate
			if strings.HasSuffix(p, ".key") {
				read = state.ReadStat
			}
			q.Files = append(q.Files, state.FileQuery{Path: p, Read: read})
		}
	}
}

// keyRotationQuery queries the service account keys and the files of their rotation.
func keyRotationQuery(n *topology.Node, q *state.Query) {
	base := n.ServiceAccountKey()
	for _, p := range []string{base + ".pub", base + "-old.pub", base + "-next.pub"} {
		q.Files = append(q.Files, state.FileQuery{Path: p, Read: state.ReadPublicKeys})
	}
	q.Files = append(q.Files, state.FileQuery{Path: base + ".key", Read: state.ReadKey}, state.FileQuery{Path: base + "-next.key", Read: state.ReadDigest})
}
