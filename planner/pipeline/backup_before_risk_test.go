package pipeline_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// backsUp gives the cluster what a backup block stands for, or takes it away.
func (o *operator) backsUp(on bool) {
	c := o.config.Clusters[0]
	c.Backup, c.Files = nil, nil
	if !on {
		return
	}
	p := backup.Plan{Cluster: c.Label, Keep: 2, Recipients: []string{"age1x"}, Folder: "/srv/backups", Certificates: c.Certificates.Dir, EtcdData: c.Etcd.DataDir}
	c.Backup = &config.Backup{Period: 24 * time.Hour, Folder: p.Folder, Keep: p.Keep, Recipients: p.Recipients}
	for name, content := range map[string]string{backup.ScriptPath: backup.Script, backup.SettingsPath: p.Settings(), backup.RecipientsPath: p.RecipientsFile()} {
		c.Files = append(c.Files, config.File{Path: name, Content: content, Mode: "0600", Owner: "root:root", Roles: []string{string(config.ControlPlane)}})
	}
	slices.SortFunc(c.Files, func(a, b config.File) int { return strings.Compare(a.Path, b.Path) })
}

// comesBefore reports whether a step of a plan waits for another one, directly or over others.
func comesBefore(p *planner.Plan, first, then state.Address) bool {
	s := p.Step(then)
	return s != nil && slices.ContainsFunc(s.Needs, func(n state.Address) bool { return n == first || comesBefore(p, first, n) })
}

// TestBackupPrecedesRisk checks which control plane takes a backup before a step that could lose data, that
// its script is there then, and that nothing risky begins before both it and the snapshot are done.
func TestBackupPrecedesRisk(t *testing.T) {
	t.Parallel()
	snapshot := topology.StepAddress(state.ClusterTarget("prod"), topology.SnapshotPhase)
	taken := etcd.BackupStep(snapshot)
	on := func(key, phase string) state.Address {
		return topology.StepAddress(state.NodeKeyTarget("cp", key), phase)
	}
	leaves := func(o *operator) { o.leave("cp3") }
	installed := func(o *operator) { o.backsUp(true); o.must(o.apply()) }
	for name, c := range map[string]struct {
		before, edit func(o *operator)
		options      planner.Options
		version      string
		// via is the control plane that takes it, empty for none; risky waits for it.
		via   string
		risky []state.Address
		// files says whether its script is written before (new), removed after (gone), or neither.
		files, says string
	}{
		"a member leaves":           {installed, leaves, planner.Options{}, "", "cp1", []state.Address{on("cp3", "drain"), on("cp3", "reset")}, "", "a backup is taken on cp1 into /srv/backups before a member is removed."},
		"with a new block":          {func(*operator) {}, func(o *operator) { o.backsUp(true); o.leave("cp3") }, planner.Options{}, "", "cp1", []state.Address{on("cp3", "drain")}, "new", "a backup is taken on cp1 into /srv/backups"},
		"with other settings":       {installed, func(o *operator) { o.config.Clusters[0].Files[1].Content += "# x\n"; o.leave("cp3") }, planner.Options{}, "", "cp1", []state.Address{on("cp3", "drain")}, "new", "a backup is taken on cp1"},
		"the block goes":            {installed, func(o *operator) { o.backsUp(false); o.leave("cp3") }, planner.Options{}, "", "cp1", []state.Address{on("cp3", "drain")}, "gone", "a backup is taken on cp1 before a member is removed, the last one of the backup block that is removed."},
		"without a block":           {func(*operator) {}, leaves, planner.Options{}, "", "", nil, "", ""},
		"not wanted":                {installed, leaves, planner.Options{SkipPhases: []string{"etcd-snapshot"}}, "", "", nil, "", ""},
		"the script is not written": {func(*operator) {}, func(o *operator) { o.backsUp(true); o.leave("cp3") }, planner.Options{SkipPhases: []string{"host-files"}}, "", "", nil, "", "no backup is taken before a member is removed, only the snapshot: no control plane has the script and the settings of the backup block by then. Apply the block first to have one."},
		"the primary leaves":        {installed, func(o *operator) { o.leave("cp1") }, planner.Options{}, "", "cp2", []state.Address{on("cp1", "drain")}, "", "a backup is taken on cp2"},
		"the primary is replaced": {installed, func(o *operator) {
			o.replace = []state.Target{state.NodeKeyTarget("cp", "cp1")}
		}, planner.Options{}, "", "cp2", []state.Address{on("cp1", "drain")}, "", "a backup is taken on cp2"},
		"an upgrade": {installed, func(o *operator) { o.config.Clusters[0].KubernetesVersion = "1.36.3"; o.kubelets("1.36.3") }, planner.Options{}, "1.35.8", "cp1", []state.Address{on("cp1", "etcd"), on("cp1", "control-plane")}, "", "before a version changes."},
		"an upgrade with a new block": {func(*operator) {}, func(o *operator) {
			o.backsUp(true)
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
		}, planner.Options{}, "1.35.8", "cp1", []state.Address{on("cp1", "etcd"), on("cp1", "control-plane")}, "new", "before a version changes."},
		"a CA is rotated":      {installed, func(o *operator) { o.rotate = []topology.Rotation{rotationOf(t, "etcd-ca")} }, planner.Options{}, "", "cp1", nil, "", "before a CA is rotated."},
		"a CA and a new block": {func(*operator) {}, func(o *operator) { o.backsUp(true); o.rotate = []topology.Rotation{rotationOf(t, "etcd-ca")} }, planner.Options{}, "", "", nil, "", "no backup is taken before a CA is rotated, only the snapshot"},
		"all is destroyed":     {installed, func(o *operator) { o.destroy = true }, planner.Options{}, "", "cp1", []state.Address{on("cp1", "reset"), on("cp2", "reset"), on("cp3", "reset")}, "", "before the hosts of cluster.prod are reset."},
		"the primary is off": {installed, func(o *operator) {
			o.edit("10.0.0.11", "power off")
			o.destroy, o.allowUnreachable = true, true
		}, planner.Options{}, "", "cp2", []state.Address{on("cp2", "reset")}, "", "a backup is taken on cp2"},
		"destroyed with a block that was never applied": {func(*operator) {}, func(o *operator) { o.backsUp(true); o.destroy = true }, planner.Options{}, "", "", nil, "", "no backup is taken before the hosts of cluster.prod are reset, only the snapshot"},
		"destroyed with an older script": {installed, func(o *operator) {
			for _, h := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13"} {
				o.edit(h, "file "+backup.ScriptPath+" content older")
			}
			o.destroy = true
		}, planner.Options{}, "", "", nil, "", "no backup is taken before the hosts of cluster.prod are reset, only the snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 3, 1, cmp.Or(c.version, "1.36.3"))
			c.before(o)
			c.edit(o)
			r, diags := o.planOf(o.observe(), c.options)
			if diags.HasErrors() {
				t.Fatal(printedFindings(diags))
			}
			p := r.Plan
			o.result, o.fleet = r, r.Fleet
			if said := strings.Join(p.Quorum, "\n"); !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "backup") {
				t.Errorf("got  %s\nwant %s", said, c.says)
			}
			s := p.Step(taken)
			if (s != nil) != (c.via != "") {
				t.Fatalf("a backup is taken: %v\n%s", s != nil, describe(p))
			}
			if s == nil {
				return
			}
			if s.Via.Key != c.via || s.Action != planner.NoOp {
				t.Errorf("the step is %+v", s)
			}
			for _, id := range c.risky {
				if !comesBefore(p, taken, id) || !comesBefore(p, snapshot, id) {
					t.Errorf("%s does not wait for backup and snapshot\n%s", id, describe(p))
				}
			}
			files := on(c.via, "host-files")
			if comesBefore(p, files, taken) != (c.files == "new") || comesBefore(p, taken, files) != (c.files == "gone") {
				t.Errorf("%s is in the wrong place\n%s", files, describe(p))
			}
			if len(c.risky) == 0 {
				return // a rotation is carried out elsewhere
			}
			o.must(o.carryOut())
			if c.files != "gone" && !o.destroy {
				wantBackup(t, o, c.via)
			}
		})
	}
}

// wantBackup checks that a control plane lists one backup before a risk.
func wantBackup(t *testing.T, o *operator, on string) {
	t.Helper()
	b := etcd.BackupsOf(o.observe(), o.config.Clusters[0])
	if len(b.List) != 1 || b.List[0].Manifest.Before == "" || b.List[0].Missing || b.List[0].Hosts[0].Key != on {
		t.Errorf("%s: %+v", on, b.List)
	}
}
