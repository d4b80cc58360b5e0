package operation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// beforePath is the description of the last backup that was taken before a risk.
const beforePath = "/var/lib/kubewright/backup/before"

// taking is the script of a backup block at work.
type taking struct {
	Operations
	op       planner.TakeBackup
	settings map[string]string
}

// takeBackup does what the script of a backup block does before a risk. What it leaves cannot be
// decrypted: it is not encrypted to anyone.
func (do Operations) takeBackup(op planner.TakeBackup) (bool, error) {
	fail := func(text string) (bool, error) { return false, do.m.CommandError(op.Summary(), 1, text) }
	script := do.m.File(file.Clean(op.Script))
	switch {
	case !script.IsRegular():
		return fail("there is no " + op.Script + ", which takes backups. Apply the backup block first, or go on without a backup and a snapshot: -skip-phase=etcd-snapshot")
	case script.SHA256 != op.SHA256:
		return fail(op.Script + " has changed since the plan was made, and is not run. Run kubewright apply, which writes it again")
	}
	t := taking{do, op, do.settings()}
	if t.done() {
		return false, nil
	}
	if why := t.stands(); why != "" {
		return fail("kubewright-backup: " + why)
	}
	t.take()
	do.servers.Advance(machine.TimeImage)
	return true, nil
}

// settings returns the settings of the script.
func (do Operations) settings() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(do.servers.Content(do.m.File(backup.SettingsPath)))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[name] = strings.ReplaceAll(strings.Trim(value, "'"), `'\''`, "'")
		}
	}
	return out
}

// done reports whether a backup before the same risk is there since the operation's time.
func (t taking) done() bool {
	d, err := backup.ParseDescription(t.servers.Content(t.m.File(beforePath)))
	if t.op.Since == 0 || err != nil || d.Manifest.Before != t.op.Before || d.Manifest.Time.Unix() < t.op.Since {
		return false
	}
	return t.settings["folder"] == "" || t.m.File(t.settings["folder"]+"/"+d.Name) != nil
}

// stands returns why the script cannot take a backup, in its words; empty if it can.
func (t taking) stands() string {
	c := t.process()
	switch {
	case c == nil:
		return "no etcd with the data in " + t.settings["etcd_data"] + " runs here. See why: crictl ps -a --name etcd"
	case !c.HasQuorum():
		return "the etcd of this host knows no leader, so that its data may be old. See why: kubewright etcd status"
	case t.m.File("/usr/bin/age") == nil && t.m.File("/usr/local/bin/age") == nil:
		return "age is not installed here, and a backup leaves the host only encrypted. Install it (apt-get install age, dnf install age), or put age into the artifacts."
	case len(t.recipients()) == 0:
		return "no recipient is in " + backup.RecipientsPath + ", so that the backup cannot be encrypted. Run kubewright apply, which writes the file."
	case t.m.Conditions.DiskFull:
		return "etcd gives no snapshot: Error: write /var/lib/kubewright/backup/work/archive/snapshot.db.part: no space left on device"
	}
	return ""
}

// process returns the etcd of the member that runs on the machine, or nil.
func (t taking) process() *etcd.Cluster {
	p, runs := t.servers.ProcessOn(t.m)
	if !runs {
		return nil
	}
	return p.Cluster()
}

func (t taking) recipients() []string {
	return strings.Fields(string(t.servers.Content(t.m.File(backup.RecipientsPath))))
}

// take puts a backup into the folder, removes the oldest of its kind beyond those that are kept, and lists all.
func (t taking) take() {
	now := t.m.Clock().UTC().Truncate(time.Second)
	c := t.process()
	content := []byte("age-encryption.org/v1 simulated " + c.ID + " " + strconv.FormatInt(now.Unix(), 10) + "\n")
	d := backup.Description{
		Name: fmt.Sprintf("%s-%s-%s_before.tar.age", t.settings["cluster"], now.Format("20060102T150405Z"), t.m.Name()), Size: int64(len(content)), SHA256: file.Digest(content),
		Manifest: backup.Manifest{
			Format: backup.Format, Cluster: t.settings["cluster"], Node: t.m.Name(), Time: now, Revision: t.servers.Revision(), Recipients: t.recipients(), Before: t.op.Before,
			Files: map[string]string{backup.SnapshotFile: file.Digest(content), "etc/kubernetes/pki/ca.key": file.Digest(content), "etc/kubernetes/pki/sa.key": file.Digest(content)},
		},
	}
	line, err := json.Marshal(d)
	if err != nil {
		panic("internal error: " + err.Error()) // it is made of texts and numbers
	}
	line = append(line, '\n')
	put := func(p string, content []byte) { t.m.Put(p, t.servers.NewFile(content, "0600", "")) }
	if folder := t.settings["folder"]; folder != "" {
		put(folder+"/"+d.Name, content)
		put(folder+"/"+d.Name+".json", line)
	}
	list := t.listed(d)
	put(backup.IndexPath, append(line, list...))
	put(backup.LastPath, line)
	put(beforePath, line)
	t.m.Remove(backup.FailedPath)
}

// listed returns the lines of earlier backups that stay, and removes from the folder what goes.
func (t taking) listed(made backup.Description) []byte {
	keep, err := strconv.Atoi(t.settings["keep"])
	if err != nil {
		keep = 1
	}
	var out []byte
	earlier := backup.ParseIndex(t.servers.Content(t.m.File(backup.IndexPath)))
	slices.SortStableFunc(earlier, func(a, b backup.Description) int { return b.Manifest.Time.Compare(a.Manifest.Time) })
	for kept := 1; len(earlier) > 0; earlier = earlier[1:] {
		d := earlier[0]
		if d.Name == made.Name {
			continue
		}
		if d.Manifest.Before != "" {
			kept++
		}
		if d.Manifest.Before != "" && kept > keep {
			if folder := t.settings["folder"]; folder != "" {
				t.m.Remove(folder + "/" + d.Name)
				t.m.Remove(folder + "/" + d.Name + ".json")
			}
			continue
		}
		line, err := json.Marshal(d)
		if err != nil {
			panic("internal error: " + err.Error()) // it was parsed
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// LastBackup returns the name of the last backup that was taken on the host before a risk.
func (do Operations) LastBackup() string {
	d, err := backup.ParseDescription(do.servers.Content(do.m.File(beforePath)))
	if err != nil {
		return ""
	}
	return d.Name
}
