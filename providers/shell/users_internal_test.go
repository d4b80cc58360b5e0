package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
)

// accounts are commands that keep users and groups in two files, and append to a third how they were
// called. The names of shadow and of BusyBox differ.
func accounts(t *testing.T, users, groups string, busyBox bool) (root string) {
	t.Helper()
	names := []string{"groupadd", "useradd", "groupdel", "userdel"}
	if busyBox {
		names = []string{"addgroup", "adduser", "delgroup", "deluser"}
	}
	const last = `for kw_last do :; done; echo "${0##*/} $*" >>"$ROOT/calls"; `
	files := map[string]string{
		"bin/id":          `grep -qx "$2" "$ROOT/users"` + "\n",
		"bin/getent":      `grep "^$2:" "$ROOT/groups"` + "\n",
		"bin/" + names[0]: last + `echo "$kw_last:x:999:" >>"$ROOT/groups"` + "\n",
		"bin/" + names[1]: last + `echo "$kw_last" >>"$ROOT/users"` + "\n",
		"bin/" + names[2]: last + `sed -i "/^$kw_last:/d" "$ROOT/groups"` + "\n",
		"bin/" + names[3]: last + `sed -i "/^$kw_last$/d" "$ROOT/users"` + "\n",
	}
	root = swapRoot(t, files)
	for name, content := range map[string]string{"users": users, "groups": groups, "calls": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestSystemUserIsCreatedAndRemoved checks that a user and its group are made as far as they are
// missing, found done the second time, and removed as far as they are not in use and were not there
// before, with the commands of shadow and of BusyBox.
func TestSystemUserIsCreatedAndRemoved(t *testing.T) {
	t.Parallel()
	create, remove := planner.SystemUser{Name: "etcd"}, planner.SystemUser{Name: "etcd", Remove: true}
	for name, tt := range map[string]struct {
		users, groups string
		busyBox       bool
		op            planner.SystemUser
		done, calls   string
		left          string
	}{
		"made":                   {op: create, done: "changed", calls: "groupadd -r etcd\nuseradd -r -M -g etcd -d /nonexistent -s SHELL etcd\n", left: "etcd etcd:x:999:"},
		"made by BusyBox":        {op: create, busyBox: true, done: "changed", calls: "addgroup -S etcd\nadduser -S -D -H -G etcd -h /nonexistent -s SHELL etcd\n", left: "etcd etcd:x:999:"},
		"there":                  {users: "etcd\n", groups: "etcd:x:7:\n", op: create, done: "same", left: "etcd etcd:x:7:"},
		"without its group":      {users: "etcd\n", op: create, done: "changed", calls: "groupadd -r etcd\n", left: "etcd etcd:x:999:"},
		"removed":                {users: "etcd\n", groups: "etcd:x:7:\n", op: remove, done: "changed", calls: "userdel etcd\ngroupdel etcd\n"},
		"removed by BusyBox":     {users: "etcd\n", groups: "etcd:x:7:\n", busyBox: true, op: remove, done: "changed", calls: "deluser etcd\ndelgroup etcd\n"},
		"gone":                   {op: remove, done: "same"},
		"the user was there":     {users: "etcd\n", groups: "etcd:x:7:\n", op: planner.SystemUser{Name: "etcd", Remove: true, Keep: planner.KeepUser}, done: "changed", calls: "groupdel etcd\n", left: "etcd "},
		"the group was there":    {users: "etcd\n", groups: "etcd:x:7:\n", op: planner.SystemUser{Name: "etcd", Remove: true, Keep: planner.KeepGroup}, done: "changed", calls: "userdel etcd\n", left: " etcd:x:7:"},
		"the group has members":  {users: "etcd\n", groups: "etcd:x:7:backup\n", op: remove, done: "changed", calls: "userdel etcd\n", left: " etcd:x:7:backup"},
		"a process runs as root": {users: "root\n", groups: "root:x:0:\n", op: planner.SystemUser{Name: "root", Remove: true}, done: "same", left: "root root:x:0:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := accounts(t, tt.users, tt.groups, tt.busyBox)
			line, err := systemUser(tt.op)
			if err != nil {
				t.Fatal(err)
			}
			script := "ROOT=" + Quote(root) + "\nexport ROOT\n" + performScript + machineScript + "kw_done() { echo done $1; }\nkw_fail() { echo failed $1; exit; }\nPATH=" + root + "/bin:/bin:/usr/bin\n"
			hidden := "command() { if [ \"$1\" = -v ]; then [ -x \"$ROOT/bin/$2\" ]; else \"$@\"; fi; }\n"
			read := func(file string) string {
				content, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					t.Fatal(err)
				}
				return string(content)
			}
			if out := runSwap(t, root, script+hidden+line); !strings.Contains(out, "done "+tt.done) {
				t.Errorf("%s, want done %s", out, tt.done)
			}
			calls := read("calls")
			for _, shell := range []string{"/usr/sbin/nologin", "/sbin/nologin", "/bin/false"} {
				calls = strings.ReplaceAll(calls, "-s "+shell, "-s SHELL")
			}
			if calls != tt.calls {
				t.Errorf("calls:\n%swant:\n%s", calls, tt.calls)
			}
			if left := strings.TrimSpace(read("users")) + " " + strings.TrimSpace(read("groups")); strings.TrimSpace(left) != strings.TrimSpace(tt.left) {
				t.Errorf("there are %q, want %q", left, tt.left)
			}
			if out := runSwap(t, root, script+hidden+line); !strings.Contains(out, "done same") {
				t.Errorf("the second time: %s", out)
			}
		})
	}
	for want, op := range map[string]planner.SystemUser{
		`user "-r" is not a plain name`: {Name: "-r"}, `user "a b" is not a plain name`: {Name: "a b"}, `"all" is neither user nor group`: {Name: "etcd", Remove: true, Keep: "all"},
	} {
		if line, err := systemUser(op); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s: %s", op, err, want, line)
		}
	}
}

// TestUsersAreObserved checks which users are found on this machine.
func TestUsersAreObserved(t *testing.T) {
	t.Parallel()
	root := swapRoot(t, nil)
	out := runSwap(t, root, observeScript+"PATH=/bin:/usr/bin\n"+call("kw_users", "root", "no-such-user"))
	if !strings.Contains(out, "user root\ngroup root\n") || strings.Contains(out, "no-such-user") {
		t.Errorf("%s", out)
	}
}
