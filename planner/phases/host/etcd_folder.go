package host

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// With a control, etcd's data folder belongs to a system user. The process stays root: its keys are
// below a folder of which another control asks that everything belongs to root. Root of a container may
// read and write what belongs to others (CAP_DAC_OVERRIDE).

const (
	etcdControl = "1.1.12"
	etcdUser    = "etcd"
	etcdOwner   = etcdUser + ":" + etcdUser
	etcdMode    = "0700"
	// settingUser is the prefix in Marks.Settings of a user that kubewright made: what was there before,
	// as SystemUser.Keep has it.
	settingUser = "user:"
)

// managesEtcdFolder reports whether a control decides who owns the folder of etcd's data.
func managesEtcdFolder(n *topology.Node) bool {
	return n.EtcdFolder() != "" && n.Cluster.Hardening.Enforces(etcdControl) && !SkipsPhase(n, topology.PreparePhase)
}

// etcdFolderItems returns the user of etcd's data and its folder, where a control asks for them.
func etcdFolderItems(n *topology.Node) []state.Item {
	if !managesEtcdFolder(n) {
		return nil
	}
	from := provenance.ClusterOrigin(n.Cluster, config.ControlKey(etcdControl))
	return []state.Item{
		{
			Address: topology.ItemAddress(n.Target, topology.PreparePhase, "user", etcdUser), Kind: state.KindUser,
			Attributes: topology.Attributes("group", etcdUser), Origin: map[string]state.Source{"group": from},
		},
		{
			Address: topology.ItemAddress(n.Target, topology.PreparePhase, "directory", n.EtcdFolder()), Kind: state.KindDirectory,
			Attributes: topology.Attributes("mode", etcdMode, "owner", etcdOwner), Origin: map[string]state.Source{"owner": from},
		},
	}
}

// ObserveUser returns the observed attributes of a user; false if it does not exist.
func ObserveUser(name string, u state.UserReport) (state.Value, bool) {
	if !u.Group {
		return topology.Attributes(), u.User
	}
	return topology.Attributes("group", name), u.User
}

// EtcdFolder returns the operation that makes etcd's data folder, with the owner that it is to have. A
// restore does not prepare hosts: where the user is missing, the next plan creates it.
func EtcdFolder(n *topology.Node) planner.EnsureDirectory {
	folder := topology.EnsureFolder(n.Cluster.Etcd.DataDir, etcdMode)
	if managesEtcdFolder(n) && !(n.Cluster.Restoring && !hasUser(n.Report)) {
		folder.Owner = etcdOwner
	}
	return folder
}

// WithinEtcdFolder returns the operation with those before and after it by which the data folder is
// root's alone meanwhile: what root writes there cannot be led elsewhere.
func WithinEtcdFolder(n *topology.Node, op planner.Operation) []planner.Operation {
	after := EtcdFolder(n)
	if after.Owner == topology.Root {
		return []planner.Operation{op}
	}
	return []planner.Operation{topology.EnsureFolder(after.Path, etcdMode), op, after}
}

func hasUser(r *state.Report) bool {
	return r != nil && r.Users[etcdUser] == state.UserReport{User: true, Group: true}
}

// etcdFolderOperations returns the operations for the changes of the user and the folder: the user is
// there while the folder belongs to it.
func etcdFolderOperations(m state.Marks, w topology.PhaseWork) []planner.Operation {
	var create, folder, remove []planner.Operation
	for _, c := range w.Changes {
		it := w.Find(c)
		switch {
		case c.Kind == state.KindUser && it != nil:
			create = append(create, planner.SystemUser{Name: c.Address.ID()})
		case c.Kind == state.KindUser:
			remove = append(remove, removeUser(m.Settings, settingUser+c.Address.ID())...)
		case c.Kind == state.KindDirectory && it != nil:
			folder = append(folder, planner.EnsureDirectory{Path: c.Address.ID(), Mode: it.Attributes.Get("mode").AsString(), Owner: it.Attributes.Get("owner").AsString()})
		case c.Kind == state.KindDirectory && c.Action == planner.Delete:
			folder = append(folder, topology.EnsureFolder(c.Address.ID(), etcdMode))
		}
	}
	return slices.Concat(create, folder, remove)
}

// removeUser removes a user that kubewright made; none where the marker does not record it.
func removeUser(settings map[string]string, key string) []planner.Operation {
	before, made := settings[key]
	if !made {
		return nil
	}
	return []planner.Operation{planner.SystemUser{Name: key[len(settingUser):], Remove: true, Keep: before}}
}

// markUser records that the user of etcd's data, or its group, was not there.
func markUser(n *topology.Node, record func(key, value string)) {
	there, asked := n.Report.Users[etcdUser]
	switch {
	case !asked || !managesEtcdFolder(n) || there.User && there.Group:
	case there.User:
		record(settingUser+etcdUser, planner.KeepUser)
	case there.Group:
		record(settingUser+etcdUser, planner.KeepGroup)
	default:
		record(settingUser+etcdUser, "")
	}
}

// markEtcdFolder records in the marker that a data folder, which the host is prepared with before etcd
// runs, was not there.
func markEtcdFolder(n *topology.Node, m *state.Marks) {
	dir := n.EtcdFolder()
	if _, known := m.Before[BeforeFolder+dir]; known || !managesEtcdFolder(n) || slices.Contains(topology.FoldersBefore, dir) || n.Report.Files[dir].Exists {
		return
	}
	m.Before[BeforeFolder+dir] = ""
}

// CheckEtcdFolders refuses a link in place of etcd's data folder where a control asks who owns it.
func CheckEtcdFolders(v *topology.Fleet) diag.Diagnostics {
	var out diag.Diagnostics
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if n.Report == nil || !managesEtcdFolder(n) || n.Report.Files[n.EtcdFolder()].Type != "link" {
				continue
			}
			dir := n.EtcdFolder()
			out.Append(diag.Errorf("Folder of etcd is a link", "On %s (%s) %s is a link to %s, and control CIS %s asks for a folder there that belongs to the user %s. Mount the other folder there instead of the link (mount --bind, and a line in /etc/fstab), or leave the control out: except %q { reason = \"…\" } in the hardening block.",
				n.Short(), n.Address, dir, n.Report.Files[dir].Link, etcdControl, etcdUser, etcdControl).At(c.Hardening.Source).For(n.Target))
		}
	}
	return out
}
