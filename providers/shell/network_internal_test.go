package shell

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// fakeNetwork are programs that work on folders instead of links.
var fakeNetwork = map[string]string{
	"ip": "#!/bin/sh\n" + `[ "$1 $2 $3" = "link delete dev" ] && rm -r "$ROOT/sys/class/net/$4" "$ROOT"/sys/class/net/*/brif/"$4" 2>/dev/null
[ "$1 $2" != "netns delete" ] || rm "$ROOT/run/netns/$3"
! [ -e "$ROOT/sys/class/net/$4" ]` + "\n",
	"nft": "#!/bin/sh\nexit 1\n", "iptables-save": "#!/bin/sh\n", "ip6tables-save": "#!/bin/sh\n",
}

// fakeProxy are programs that work on files instead of the objects of kube-proxy and
// flannel: rules, nftables' tables, sets and virtual servers, one per line.
var fakeProxy = map[string]string{
	"ip": "#!/bin/sh\n" + `case "$*" in
"-o address show dev kube-ipvs0") echo '3: kube-ipvs0    inet 10.96.0.1/32 scope global kube-ipvs0'; echo '3: kube-ipvs0    inet6 fd00::1/128 scope global' ;;
"link delete dev kube-ipvs0") rm -r "$ROOT/sys/class/net/kube-ipvs0" ;;
*) exit 1 ;;
esac` + "\n",
	"iptables-save": "#!/bin/sh\ncat \"$ROOT/rules\"\n", "ip6tables-save": "#!/bin/sh\n",
	"iptables-restore": "#!/bin/sh\ncat >\"$ROOT/rules.new\" && mv \"$ROOT/rules.new\" \"$ROOT/rules\"\n",
	"nft": "#!/bin/sh\n" + `case $1 in
list) grep -q -x -e "$3 $4" "$ROOT/tables" ;;
delete) sed -i "/^$3 $4\$/d" "$ROOT/tables" ;;
esac` + "\n",
	"ipset": "#!/bin/sh\n" + `case $1 in
list) cat "$ROOT/sets" ;;
destroy) [ "$2" != KUBE-USED ] && sed -i "/^$2\$/d" "$ROOT/sets" ;;
esac` + "\n",
	"ipvsadm": "#!/bin/sh\n" + `case $1 in
--save) cat "$ROOT/servers" ;;
--delete-service) grep -v -F -e "-A $2 $3 " "$ROOT/servers" >"$ROOT/servers.new"; mv "$ROOT/servers.new" "$ROOT/servers" ;;
esac` + "\n",
	"sleep": "#!/bin/sh\n",
}

// TestRemoveKubeProxyObjects checks that what kube-proxy in mode ipvs and flannel have made is
// removed, and that similar objects of others stay.
func TestRemoveKubeProxyObjects(t *testing.T) {
	t.Parallel()
	root, bin := t.TempDir(), t.TempDir()
	for name, text := range fakeProxy {
		hosttest.WriteProgram(t, filepath.Join(bin, name), text)
	}
	if err := os.MkdirAll(filepath.Join(root, "sys/class/net/kube-ipvs0"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]struct{ before, after string }{
		"rules": {
			"*nat\n:KUBE-SERVICES - [0:0]\n:FLANNEL-POSTRTG - [0:0]\n-A POSTROUTING -j FLANNEL-POSTRTG\n-A POSTROUTING -j MASQUERADE\n-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst -j ACCEPT\nCOMMIT\n",
			"*nat\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n",
		},
		"tables":  {"ip flannel-ipv4\nip6 flannel-ipv6\nip kube-proxy\ninet theirs\n", "inet theirs\n"},
		"sets":    {"KUBE-CLUSTER-IP\ntheirs\nKUBE-6-CLUSTER-IP\nKUBE-USED\n", "theirs\nKUBE-USED\n"},
		"servers": {"-A -t 10.96.0.1:443 -s rr\n-a -t 10.96.0.1:443 -r 10.0.0.1:6443 -m -w 1\n-A -u [fd00::1]:53 -s rr\n-A -t 192.0.2.1:80 -s wlc\n-A -f 7 -s rr\n", "-a -t 10.96.0.1:443 -r 10.0.0.1:6443 -m -w 1\n-A -t 192.0.2.1:80 -s wlc\n-A -f 7 -s rr\n"},
	}
	for name, f := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(f.before), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"done changed\n", "done same\n"} {
		if out := removeNetwork(t, root, bin, "kube-ipvs0"); !strings.Contains(out, want) {
			t.Errorf("want %s, got %s", want, out)
		}
		for name, f := range files {
			if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != f.after {
				t.Errorf("%s are %q (%v), want %q", name, got, err, f.after)
			}
		}
	}
}

// proxyTables is the output of iptables-save on a host where kube-proxy has changed its
// mode.
const proxyTables = `*nat
:PREROUTING ACCEPT [0:0]
:KUBE-LOAD-BALANCER - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-SEP-AAAA - [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-SVC-BBBB - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
-A KUBE-SVC-BBBB -m comment --comment "default/kubernetes:https" -j KUBE-SEP-AAAA
%s
COMMIT
*filter
:INPUT ACCEPT [0:0]
:KUBE-EXTERNAL-SERVICES - [0:0]
:KUBE-FIREWALL - [0:0]
:KUBE-IPVS-FILTER - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-SERVICES - [0:0]
-A INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
-A INPUT -j KUBE-FIREWALL
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A KUBE-IPVS-FILTER -m set --match-set KUBE-IPVS-IPS dst -j REJECT
-A KUBE-SERVICES -m comment --comment "shop/web has no endpoints" -j REJECT
COMMIT
`

// TestRemoveKubeProxyRules checks that rules which only one mode of kube-proxy uses are removed
// in one transaction, and that those of the mode in use, of the kubelet and of others stay.
// Without rules of the mode in use nothing is touched.
func TestRemoveKubeProxyRules(t *testing.T) {
	t.Parallel()
	used := map[string]string{
		planner.ProxyIPVS:     `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j KUBE-SVC-BBBB`,
		planner.ProxyIPTables: `-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT`,
	}
	want := map[string]string{
		planner.ProxyIPVS: "*nat\n:KUBE-LOAD-BALANCER - [0:0]\n:KUBE-NODE-PORT - [0:0]\n-X KUBE-LOAD-BALANCER\n-X KUBE-NODE-PORT\nCOMMIT\n" +
			"*filter\n:KUBE-IPVS-FILTER - [0:0]\n:KUBE-NODE-PORT - [0:0]\n-D INPUT -m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-FILTER\n" +
			"-X KUBE-IPVS-FILTER\n-X KUBE-NODE-PORT\nCOMMIT\n",
		planner.ProxyIPTables: "*nat\n:KUBE-NODEPORTS - [0:0]\n:KUBE-SEP-AAAA - [0:0]\n:KUBE-SVC-BBBB - [0:0]\n-X KUBE-NODEPORTS\n-X KUBE-SEP-AAAA\n-X KUBE-SVC-BBBB\nCOMMIT\n" +
			"*filter\n:KUBE-EXTERNAL-SERVICES - [0:0]\n:KUBE-SERVICES - [0:0]\n" +
			"-D INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes externally-visible service portals\" -j KUBE-EXTERNAL-SERVICES\n" +
			"-X KUBE-EXTERNAL-SERVICES\n-X KUBE-SERVICES\nCOMMIT\n",
	}
	programs := maps.Clone(fakeProxy)
	programs["iptables-save"] = "#!/bin/sh\nsed -n \"/^[*]$2$/,/^COMMIT/p\" \"$ROOT/rules\"\n"
	programs["iptables-restore"] = "#!/bin/sh\n[ \"$*\" = --noflush ] && cat >>\"$ROOT/restored\"\n"
	for mode := range used {
		for _, runs := range []bool{false, true} {
			root, bin := t.TempDir(), t.TempDir()
			for name, text := range programs {
				hosttest.WriteProgram(t, filepath.Join(bin, name), text)
			}
			rule := "-A KUBE-SERVICES -j RETURN"
			if runs {
				rule = used[mode]
			}
			for name, text := range map[string]string{"rules": fmt.Sprintf(proxyTables, rule), "sets": "KUBE-CLUSTER-IP\ntheirs\n", "servers": "", "restored": ""} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(root, "sys/class/net/kube-ipvs0")
			if err := os.MkdirAll(link, 0o755); err != nil {
				t.Fatal(err)
			}
			out := onRoot(t, root, bin, planner.RemoveProxyRules{Mode: mode})
			restored, err := os.ReadFile(filepath.Join(root, "restored"))
			if err != nil {
				t.Fatal(err)
			}
			_, linked := os.Stat(link)
			if !runs {
				if !strings.Contains(out, "kube-proxy has written no rules in its mode ") || len(restored) > 0 || linked != nil {
					t.Errorf("%s is not in use: got %s, restored %q, link %v", used[mode], out, restored, linked)
				}
				continue
			}
			if !strings.Contains(out, "done changed\n") || string(restored) != want[mode] {
				t.Errorf("%s: got %s, restored\n%s, want\n%s", mode, out, restored, want[mode])
			}
			if gone := linked != nil; gone != (mode == planner.ProxyIPVS) {
				t.Errorf("%s: the link is gone: %v", mode, gone)
			}
		}
	}
}

// removeNetwork runs the operation on a root with the test's programs, and returns its
// result.
func removeNetwork(t *testing.T, root, bin string, links ...string) string {
	t.Helper()
	return onRoot(t, root, bin, planner.RemoveNetwork{Links: links})
}

// onRoot runs an operation on a root with the test's programs, and returns its result.
func onRoot(t *testing.T, root, bin string, op planner.Operation) string {
	t.Helper()
	body, err := (&compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}).script()
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\n"+preludeScript+body)
	sh.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "ROOT=" + root}
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestRemovePodBridge checks that the bridge of pods is removed with the links attached to
// it, and that the links of another container engine stay.
func TestRemovePodBridge(t *testing.T) {
	t.Parallel()
	root, bin := t.TempDir(), t.TempDir()
	for name, text := range fakeNetwork {
		hosttest.WriteProgram(t, filepath.Join(bin, name), text)
	}
	links := filepath.Join(root, "sys/class/net")
	for _, dir := range []string{"cni0/brif/veth1", "cni0/brif/eth1", "veth1", "eth0", "eth1", "docker0/brif/veth2", "veth2", "veth3", "flannel.1"} {
		if err := os.MkdirAll(filepath.Join(links, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func() string { return removeNetwork(t, root, bin, "cni0", "flannel.1", "kube-ipvs0") }
	if out := run(); !strings.Contains(out, "done changed\n") {
		t.Errorf("got %s", out)
	}
	if out := run(); !strings.Contains(out, "done same\n") {
		t.Errorf("once more: %s", out)
	}
	var left []string
	entries, err := os.ReadDir(links)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"docker0", "eth0", "eth1", "veth2", "veth3"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v (%v), want %v", left, err, want)
	}
}
