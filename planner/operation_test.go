package planner

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

// fill sets every field below v to a non-zero value, so that a field which JSON loses is found.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case state.Value:
		v.Set(reflect.ValueOf(state.Map(map[string]state.Value{
			"kind":     state.String("ConfigMap"),
			"metadata": state.Map(map[string]state.Value{"name": state.String("x")}),
			"token":    state.PendingValue("cluster.prod/bootstrap-token", "token"),
			"secret":   state.SensitiveValue("config:x", "f"),
		})))
		return
	case state.Target:
		v.Set(reflect.ValueOf(state.NodeKeyTarget("cp", "cp1")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x<&>" + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(300_000_000_007)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0))
		fill(t, v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("no value for a field of type %s", v.Type())
	}
}

func filled(t *testing.T, zero Operation) Operation {
	t.Helper()
	p := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(t, p)
	return p.Interface().(Operation)
}

func TestOperationsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, zero := range operations {
		for name, op := range map[string]Operation{"filled": filled(t, zero), "zero": zero} {
			b, err := json.Marshal(Operations{op})
			if err != nil {
				t.Errorf("%s %s: %v", name, zero.Op(), err)
				continue
			}
			if !strings.HasPrefix(string(b), `[{"op":"`+zero.Op()+`","done_when":"`+op.DoneWhen()+`"`) {
				t.Errorf("%s %s: op and done_when are not the first keys of %s", name, zero.Op(), b)
			}
			var back Operations
			if err := json.Unmarshal(b, &back); err != nil || len(back) != 1 || !reflect.DeepEqual(normal(back[0]), normal(op)) {
				t.Errorf("%s %s: %s gives %+v, %v, want %+v", name, zero.Op(), b, back, err, op)
			}
			if again, err := json.Marshal(back); err != nil || string(again) != string(b) {
				t.Errorf("%s %s: %s is written again as %s, %v", name, zero.Op(), b, again, err)
			}
		}
	}
}

// normal returns an operation as JSON: there, a zero Value and a null one are the same.
func normal(op Operation) string {
	b, err := json.Marshal(op)
	if err != nil {
		panic(err)
	}
	return reflect.TypeOf(op).Name() + string(b)
}

func TestUnknownOperationIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"op":"format_disk"}]`:           `operation "format_disk": this version of kubewright does not support it`,
		`[{"path":"/x"}]`:                  `operation ""`,
		`[{"op":"write_file","path":1}]`:   "cannot read operation write_file",
		`{"op":"swap"}`:                    "cannot unmarshal",
		`["swap"]`:                         "cannot unmarshal",
		`[{"op":"swap"},{"op":"no_such"}]`: `operation "no_such"`,
	} {
		var ops Operations
		if err := json.Unmarshal([]byte(text), &ops); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want one with %q", text, err, want)
		}
	}
}

// TestDoneWhenIsDerivedWhenReadingPlans checks that done_when is not read but follows from the other fields. A plan
// saved by an earlier version has none, and one of another version may word it differently.
func TestDoneWhenIsDerivedWhenReadingPlans(t *testing.T) {
	t.Parallel()
	const want = `[{"op":"restore","done_when":"nothing is preserved of the path","path":"/x"}]`
	for _, text := range []string{want, `[{"op":"restore","path":"/x"}]`, `[{"op":"restore","done_when":"the moon is full","path":"/x"}]`} {
		var ops Operations
		if err := json.Unmarshal([]byte(text), &ops); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(ops); err != nil || string(got) != want {
			t.Errorf("%s is written again as %s, %v", text, got, err)
		}
	}
}

// TestOperationTableIsComplete checks that every named type is in the table, once, with a summary.
func TestOperationTableIsComplete(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	types := map[string]bool{}
	for _, zero := range operations {
		if names[zero.Op()] {
			t.Errorf("two operations are called %s", zero.Op())
		}
		names[zero.Op()] = true
		types[reflect.TypeOf(zero).Name()] = true
		if s := filled(t, zero).Summary(); s == "" || strings.Contains(s, "\n") {
			t.Errorf("summary of %s is %q", zero.Op(), s)
		}
	}
	for _, name := range receiversOfOp(t) {
		if !types[name] {
			t.Errorf("%s is missing in the table of operations", name)
		}
	}
}

// receiversOfOp lists the types of this package that have a method Op.
func receiversOfOp(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Op" {
				continue
			}
			if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
				out = append(out, id.Name)
			}
		}
	}
	if len(out) < len(operations) {
		t.Errorf("only %d types have a method Op, and the table has %d", len(out), len(operations))
	}
	return out
}

// TestIsHostOperation checks that no operation is one of the host alone and also one of the API or
// one with keys. What performs the operations of hosts has tests that all of them are known there.
func TestIsHostOperation(t *testing.T) {
	t.Parallel()
	for _, zero := range operations {
		if IsHostOperation(zero) && (IsAPIOperation(zero) || IsKeyOperation(zero)) {
			t.Errorf("%s is in IsHostOperation, and also in IsAPIOperation or IsKeyOperation", zero.Op())
		}
	}
	if IsHostOperation(Drain{}) || !IsHostOperation(WriteFile{}) {
		t.Error("a drain is done by the host alone, or writing a file is not")
	}
}

// TestWritesHostCoversEveryHostOperation checks that every operation writes to the host, except those of the API and etcd
// and waits.
func TestWritesHostCoversEveryHostOperation(t *testing.T) {
	t.Parallel()
	var elsewhere []string
	for _, zero := range operations {
		if !WritesHost(zero) && !IsAPIOperation(zero) {
			elsewhere = append(elsewhere, zero.Op())
		}
	}
	slices.Sort(elsewhere)
	want := []string{"add_etcd_member", "compact_etcd", "defragment_etcd", "disarm_etcd", "move_etcd_leader", "promote_etcd_member", "remove_etcd_member", "snapshot_etcd", "upload_certs", "wait"}
	if !slices.Equal(elsewhere, want) {
		t.Errorf("write neither to the host nor to the API: %v, want %v. A new operation belongs in IsHostOperation, IsKeyOperation or IsAPIOperation (operation.go), or in this list", elsewhere, want)
	}
}

func TestOperationSummariesOfVariants(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]Operation{
		"load module br_netfilter":                                               LoadModule{Module: "br_netfilter"},
		"unload module br_netfilter":                                             LoadModule{Module: "br_netfilter", Unload: true},
		"create the system user etcd":                                            SystemUser{Name: "etcd"},
		"remove the user etcd":                                                   SystemUser{Name: "etcd", Remove: true},
		"remove the group etcd":                                                  SystemUser{Name: "etcd", Remove: true, Keep: KeepUser},
		"turn swap off":                                                          Swap{},
		"transfer etcd leadership from cp1":                                      MoveEtcdLeader{Name: "cp1"},
		"turn swap on again":                                                     Swap{On: true, Boot: SwapReturns},
		"turn swap off, and mask swap.target":                                    Swap{Boot: SwapStaysOff},
		"unmask swap.target":                                                     Swap{Boot: SwapReturns},
		"cordon node w1":                                                         Cordon{Node: "w1"},
		"uncordon node w1":                                                       Cordon{Node: "w1", Undo: true},
		"mark the host as part of cluster prod":                                  Mark{Marks: state.Marks{Cluster: "prod"}},
		"remove kubewright's marks from the host":                                Mark{Remove: true},
		"wait for https://a/readyz":                                              Wait{For: WaitHTTP, URL: "https://a/readyz"},
		"wait for the API":                                                       Wait{For: WaitAPI},
		"wait for pod kube-apiserver-cp1":                                        Wait{For: WaitStaticPod, Name: "kube-apiserver-cp1"},
		"wait for node w1 to register":                                           Wait{For: WaitNodeRegistered, Name: "w1"},
		"wait for node w1 to be ready":                                           Wait{For: WaitNodeReady, Name: "w1"},
		"wait for /etc/kubernetes/kubelet.conf":                                  Wait{For: WaitFile, Name: "/etc/kubernetes/kubelet.conf"},
		"wait for etcd to be restarted":                                          Wait{For: WaitRestarted, Process: state.Process{Name: "etcd"}},
		"wait for /a.crt to be served at https://a":                              Wait{For: WaitServed, Name: "/a.crt", URL: "https://a"},
		"wait for etcd member cp2":                                               Wait{For: WaitEtcdStarted, Name: "cp2"},
		"restore the previous /etc/fstab":                                        Restore{Path: "/etc/fstab"},
		"compact old revisions of etcd":                                          CompactEtcd{},
		"set etcd's data aside as member.before-1":                               SetAsideEtcd{As: "member.before-1"},
		"install the operator's certificates and keys":                           ImportSecrets{},
		"delete the bootstrap token":                                             DeleteToken{},
		"delete leftover bootstrap tokens for joining":                           DeleteJoinTokens{},
		"restart the pods of DaemonSet kube-system/kube-proxy":                   RestartPods{Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy", Mark: "new"},
		"wait until the pods of DaemonSet kube-system/kube-proxy have restarted": RestartPods{Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy"},
		"wait for node w1 to be ready with kubelet 1.36.3":                       Wait{For: WaitNodeReady, Name: "w1", Version: "1.36.3"},
		"wait until node w1 has been back for 2m0s":                              Wait{For: WaitPause, Name: "w1", Pause: 2 * time.Minute},
		"wait until no server answers at https://a/livez":                        Wait{For: WaitClosed, URL: "https://a/livez"},
		"wait until every namespace has the CAs of /etc/pki/ca.crt":              Wait{For: WaitRootCA, Name: "/etc/pki/ca.crt"},
		"wait for moon":                                                          Wait{For: "moon"},
		"apply ConfigMap kubeadm-config":                                         ApplyObject{Object: state.FromGo(map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "kubeadm-config"}})},
		"delete v1/ConfigMap/kube-system/kubeadm-xy":                             DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kubeadm-xy"}},
	} {
		if got := op.Summary(); got != want {
			t.Errorf("summary = %q, want %q", got, want)
		}
	}
}

// donePhrase matches a clause of one line that needs no quoting in JSON.
var donePhrase = regexp.MustCompile(`^[a-z][a-zA-Z0-9 ,;:._'-]*[a-zA-Z0-9]$`)

// TestEveryOperationHasDoneWhen checks that each operation has a clause, whichever of its fields are set.
func TestEveryOperationHasDoneWhen(t *testing.T) {
	t.Parallel()
	said := func(what string, op Operation) {
		if s := op.DoneWhen(); !donePhrase.MatchString(s) {
			t.Errorf("%s %s: done when %q", op.Op(), what, s)
		}
	}
	for _, zero := range operations {
		said("zero", zero)
		said("filled", filled(t, zero))
		for i := range reflect.TypeOf(zero).NumField() {
			one := reflect.New(reflect.TypeOf(zero)).Elem()
			fill(t, one.Field(i))
			said("with "+one.Type().Field(i).Name, one.Interface().(Operation))
		}
	}
	unknown := Wait{}.DoneWhen()
	for _, condition := range waitConditions(t) {
		if s := (Wait{For: condition}).DoneWhen(); s == unknown {
			t.Errorf("a wait for %s is done when %q", condition, s)
		}
	}
}

// waitConditions returns the constants of type WaitFor.
func waitConditions(t *testing.T) []WaitFor {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "operation_wait.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []WaitFor
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "WaitFor" {
				out = append(out, WaitFor(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)))
			}
		}
		return true
	})
	if len(out) == 0 {
		t.Fatal("no conditions found")
	}
	return out
}

// doneWhen lists all phrases, each with the operations that share it.
var doneWhen = map[string][]Operation{
	"never: it is done again each time": {
		LoadImage{Policy: "Always"},
		Unit{Action: "restart"},
		Unit{Action: "restart", Reload: true},
		Mark{Remove: true},
		Mark{Remove: true, CA: "/ca.crt"},
		IssueCA{Renew: true},
		IssueCertificate{Renew: true},
		WriteKubeconfig{Renew: true},
		SnapshotEtcd{},
		TakeBackup{},
		CompactEtcd{},
		DefragmentEtcd{},
		Cordon{Undo: true, Remember: "1.36.3"},
		CreateToken{},
		CreateToken{TTL: time.Hour},
		CreateToken{ID: "abcdef", TTL: time.Hour},
		UploadCerts{},
	},
	"never: it is done again each time, without effect where all is so already": {
		ApplyObject{}, Cordon{Undo: true}, CreateToken{ID: "abcdef"}, CreateToken{ID: "abcdef", Expires: "2027-01-01T00:00:00Z"},
	},
	"the file has this content, mode and owner":                                   {WriteFile{}, WriteFile{Content: Content{Ref: "config:x"}}},
	"the path does not exist, or is an empty mount point":                         {RemovePath{}},
	"the folder is empty or absent":                                               {RemovePath{ContentsOnly: true}},
	"the folder is there with this mode and owner":                                {EnsureDirectory{}},
	"the file has this mode and owner":                                            {SetAccess{}},
	"each of the files has this content and mode, and is root's":                  {UploadArtifact{}},
	"the path was preserved already, or does not exist":                           {Preserve{}},
	"what the path was is preserved already":                                      {Preserve{Any: true}},
	"nothing is preserved of the path":                                            {Restore{}},
	"each package is installed, in the version listed if any, and held as listed": {Packages{Manager: "apt"}},
	"each package is installed, in the version listed if any":                     {Packages{Manager: "dnf"}},
	"none of the packages is installed, nor what was installed for them alone":    {Packages{Manager: "apt", Remove: true}},
	"none of the packages is installed":                                           {Packages{Manager: "dnf", Remove: true}},
	"the runtime has the image": {
		LoadImage{}, LoadImage{Policy: "IfNotPresent"}, LoadImage{Policy: "Never"}, LoadImage{Artifact: "x.tar"}, LoadImage{Artifact: "x.tar", Policy: "Always"},
	},
	"the runtime has all of the images":          {LoadImage{Artifact: "x.tar", Others: []string{"y"}}, LoadImage{Others: []string{"y"}}},
	"the unit is as the action leaves it":        {Unit{}},
	"the unit is active":                         {Unit{Action: "start"}},
	"the unit is inactive or failed":             {Unit{Action: "stop"}},
	"systemctl is-enabled succeeds for the unit": {Unit{Action: "enable"}},
	"the unit is not enabled":                    {Unit{Action: "disable"}},
	"the unit is inactive or failed; the daemon-reload before is done again each time":   {Unit{Action: "stop", Reload: true}},
	"the process does not run, or was started after the last of these files was written": {RestartProcess{}},
	"the kernel parameter has this value":                                                {SetSysctl{}},
	"the kernel parameter has this value, or the kernel does not have it":                {SetSysctl{Restore: true}},
	"the kernel has the module":                                                          {LoadModule{}},
	"the kernel does not have the module, or something uses it":                          {LoadModule{Unload: true}},
	"the user and its group exist":                                                       {SystemUser{}},
	"the user and its group do not exist, or something else uses them":                   {SystemUser{Remove: true}, SystemUser{Remove: true, Keep: KeepUser}},
	"no swap is in use":                                         {Swap{}},
	"no swap is in use, and swap.target is masked":              {Swap{Boot: SwapStaysOff}},
	"no swap is in use, and swap.target is not masked":          {Swap{Boot: SwapReturns}},
	"swap is in use":                                            {Swap{On: true}},
	"swap is in use, and swap.target is masked":                 {Swap{On: true, Boot: SwapStaysOff}},
	"swap is in use, and swap.target is not masked":             {Swap{On: true, Boot: SwapReturns}},
	"the runtime has no pods, and kubepods.slice is not active": {RemovePods{}},
	"nothing is mounted below the folder":                       {Unmount{}, Unmount{Flags: []string{"MNT_FORCE"}}},
	"no network namespace or firewall rule of Kubernetes or CNI is left, and no empty table of iptables": {RemoveNetwork{}},
	"none of these links is there, and no network namespace or firewall rule of Kubernetes or CNI is left, and no empty table of iptables": {
		RemoveNetwork{Links: []string{"cni0"}},
	},
	"no chain of this mode is left":                                                                {RemoveProxyRules{Mode: ProxyIPTables}},
	"no link, chain or set of addresses of this mode is left":                                      {RemoveProxyRules{Mode: ProxyIPVS}},
	"the host's mark says this, and the lineage and token of this run":                             {Mark{}},
	"the host's mark says this, the CA that is in the file, and the lineage and token of this run": {Mark{CA: "/ca.crt"}},
	"the certificate exists":                                                                       {IssueCA{}, IssueCertificate{}},
	"the private key exists, and beside it its public key, root's with mode 0600":                  {IssueKeyPair{}},
	"each file has the content that it has on the other node, and this mode and owner":             {CopySecrets{}},
	"the file holds the first certificate of each of the files, each once, and nothing else":       {BundleTrust{To: "/ca.crt"}},
	"the file holds the first public key of each of the files, each once, and nothing else":        {BundleTrust{To: "/sa.pub"}},
	"each file has the content that the operator provides, and this mode and owner":                {ImportSecrets{}},
	"the file has these providers in this order, with these keys, and is root's with mode 0600":    {WriteEncryption{}},
	"etcd holds no object of these resources that another key has encrypted":                       {RewriteObjects{}},
	"the metric of the node's API server has the hash of the file":                                 {Wait{For: WaitEncryption}},
	"the file exists": {WriteKubeconfig{}, Wait{For: WaitFile}},
	"the file is this kubeconfig with this token, root's with mode 0600": {WriteKubeconfig{Token: &state.Pending{}}, WriteKubeconfig{Token: &state.Pending{}, Renew: true}},
	"the kubeconfig exists":                                                                            {SetKubeconfig{}},
	"the kubeconfig has this server":                                                                   {SetKubeconfig{Server: "https://a"}},
	"the kubeconfig trusts what is in the trust file":                                                  {SetKubeconfig{Trust: "/ca.crt"}},
	"the kubeconfig takes certificate and key from the client certificate's path":                      {SetKubeconfig{ClientCertificate: "/c.pem"}},
	"the kubeconfig has this server, and trusts what is in the trust file":                             {SetKubeconfig{Server: "https://a", Trust: "/ca.crt"}},
	"the kubeconfig has this server, and takes certificate and key from the client certificate's path": {SetKubeconfig{Server: "https://a", ClientCertificate: "/c.pem"}},
	"a member has the peer URL":                                                                        {AddEtcdMember{}},
	"the file has this content with the members that etcd has now, and this mode and owner":            {RenderEtcdManifest{}},
	"the member with the peer URL is a voter":                                                          {PromoteEtcdMember{}},
	"no member has the peer URL":                                                                       {RemoveEtcdMember{}},
	"the interrupted plan has left a whole snapshot of this etcd that is younger than max_age":         {SnapshotEtcd{MaxAge: time.Hour}},
	"the interrupted plan has left a backup before the same risk that is younger than max_age":         {TakeBackup{MaxAge: time.Hour}, TakeBackup{Since: 1}},
	"the member does not lead":                                                                         {MoveEtcdLeader{}},
	"no member has the alarm":                                                                          {DisarmEtcd{}},
	"the folder holds no data of a member":                                                             {SetAsideEtcd{}},
	"the folder holds data of a member, and the host records that it was restored from this snapshot":  {RestoreEtcd{}},
	"the object exists":         {ApplyObject{CreateOnly: true}},
	"the object does not exist": {DeleteObject{}},
	"the node is schedulable":   {PatchNode{Schedulable: new(true)}},
	"the node is unschedulable, as the configuration says, and the node has these labels, annotations and taints": {PatchNode{Schedulable: new(false), Labels: map[string]string{"a": "b"}}},
	"the node exists": {PatchNode{}, Wait{For: WaitNodeRegistered}},
	"the node has these labels, annotations and taints": {
		PatchNode{Labels: map[string]string{"a": "b"}},
		PatchNode{Annotations: map[string]string{"a": "b"}},
		PatchNode{Taints: []state.Taint{{Key: "a"}}},
		PatchNode{Sealed: map[string]state.Sensitive{"labels.a": {Ref: "config:x"}}},
	},
	"the node has none of the labels, annotations and taints to be removed": {
		PatchNode{RemoveLabels: []string{"a"}}, PatchNode{RemoveAnnotations: []string{"a"}}, PatchNode{RemoveTaints: []state.Taint{{Key: "a"}}},
	},
	"the node has these labels, annotations and taints, and none of those to be removed": {
		PatchNode{Labels: map[string]string{"a": "b"}, RemoveTaints: []state.Taint{{Key: "a"}}},
	},
	"all of its pods carry the mark and run, or there is no such object":            {RestartPods{Mark: "new"}},
	"all of its pods have the current template and run, or there is no such object": {RestartPods{}},
	"the node is unschedulable":                                                                                        {Cordon{}},
	"the node is unschedulable, no matter who cordoned it":                                                             {Cordon{For: "upgrade"}},
	"the node does not record that it was cordoned for this":                                                           {Cordon{Undo: true, For: "upgrade"}, Cordon{Undo: true, For: "upgrade", Remember: "1.36.3"}},
	"no pod is left on the node but those of DaemonSets and mirror pods":                                               {Drain{}, Drain{Force: true, DisableEviction: true}},
	"no pod that the selector matches is left on the node but those of DaemonSets and mirror pods":                     {Drain{PodSelector: "a=b"}},
	"no pod is left on the node but those of DaemonSets, mirror pods, and those terminating for longer than skip_wait": {Drain{SkipWait: time.Second}},
	"the token does not exist, or this run has not created it":                                                         {DeleteToken{}},
	"there is no token for joining":                                                                                    {DeleteJoinTokens{}},
	"the condition holds":                                                                                              {Wait{}, Wait{For: "moon"}},
	"the URL answers 200":                                                                                              {Wait{For: WaitHTTP}, Wait{For: WaitHTTP, CA: "/ca.crt"}},
	"no server answers at the URL":                                                                                     {Wait{For: WaitClosed}},
	"the API reports through this node that it is ready":                                                               {Wait{For: WaitAPI}},
	"the pod runs and is ready":                                                                                        {Wait{For: WaitStaticPod}},
	"the pod runs this manifest and is ready":                                                                          {Wait{For: WaitStaticPod, Hash: "x"}, Wait{For: WaitStaticPod, HashRef: "config:x"}},
	"the node exists, and its kubelet has this version":                                                                {Wait{For: WaitNodeRegistered, Version: "1.36.3"}},
	"the node is ready":                                                                                                {Wait{For: WaitNodeReady}},
	"the node is ready, and its kubelet has this version":                                                              {Wait{For: WaitNodeReady, Version: "1.36.3"}},
	"the node was uncordoned with this version at least one pause ago, or at an unknown time":                          {Wait{For: WaitPause}},
	"the file exists, and was not written before the others":                                                           {Wait{For: WaitFile, Files: []string{"/x"}}},
	"the process runs": {Wait{For: WaitRestarted}},
	"the process runs, and was started after the files were written":         {Wait{For: WaitRestarted, Files: []string{"/x"}}},
	"the certificate in the file is the one that is served at the URL":       {Wait{For: WaitServed}},
	"kube-root-ca.crt of every namespace holds the certificates in the file": {Wait{For: WaitRootCA}},
	"a member of etcd that has started has this name":                        {Wait{For: WaitEtcdStarted}},
}

// TestDoneWhenTextPerOperation checks the clause of each operation in the table, and that the table has every
// operation.
func TestDoneWhenTextPerOperation(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	for want, ops := range doneWhen {
		for _, op := range ops {
			told[op.Op()] = true
			if got := op.DoneWhen(); got != want {
				t.Errorf("%s %+v is done when %q, want %q", op.Op(), op, got, want)
			}
		}
	}
	for _, zero := range operations {
		if !told[zero.Op()] {
			t.Errorf("%s is missing: add its DoneWhen to the table doneWhen of this file", zero.Op())
		}
	}
}

// TestPatchNodeSummary checks that the summary names what is patched, and nothing else.
func TestPatchNodeSummary(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	taints := []state.Taint{{Key: "dedicated", Effect: "NoSchedule"}}
	for want, op := range map[string]PatchNode{
		"label node w1":                               {Labels: map[string]string{"a": "b"}},
		"taint node w1":                               {RemoveTaints: taints},
		"label and taint node w1":                     {RemoveLabels: []string{"a"}, Taints: taints},
		"cordon node w1":                              {Schedulable: &no},
		"uncordon and annotate node w1":               {Schedulable: &yes, RemoveAnnotations: []string{"a"}},
		"uncordon, label, annotate and taint node w1": {Schedulable: &yes, Sealed: map[string]state.Sensitive{"labels.a": {}, "annotations.a": {}}, Taints: taints},
		"change node w1":                              {},
	} {
		if op.Node = "w1"; op.Summary() != want {
			t.Errorf("%+v: %q, want %q", op, op.Summary(), want)
		}
	}
}
