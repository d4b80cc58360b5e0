package planner

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

// fill sets every field below v to something that is not zero, so that a field
// which JSON loses is found.
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
			if !strings.HasPrefix(string(b), `[{"op":"`+zero.Op()+`"`) {
				t.Errorf("%s %s: the op is not the first key of %s", name, zero.Op(), b)
			}
			var back Operations
			if err := json.Unmarshal(b, &back); err != nil || len(back) != 1 || !reflect.DeepEqual(normal(back[0]), normal(op)) {
				t.Errorf("%s %s: %s gives %+v, %v, want %+v", name, zero.Op(), b, back, err, op)
			}
		}
	}
}

// normal compares a null object as JSON has it: a zero Value and a null one are the same.
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
		`[{"op":"format_disk"}]`:           `operation "format_disk": this version of kubewright does not know it`,
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

// TestOperationsAreClosed: every type with a name is in the table, once, with
// a summary for the reader.
func TestOperationsAreClosed(t *testing.T) {
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
			t.Errorf("%s is no row of the table of operations", name)
		}
	}
}

// receiversOfOp lists the types of this package that have a method Op.
func receiversOfOp(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "operation_names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != "Op" {
			continue
		}
		if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
			out = append(out, id.Name)
		}
	}
	return out
}

func TestIsHostOperation(t *testing.T) {
	t.Parallel()
	host := 0
	for _, zero := range operations {
		if IsHostOperation(zero) {
			host++
		}
	}
	if host != 20 || IsHostOperation(Drain{}) || !IsHostOperation(WriteFile{}) {
		t.Errorf("%d operations are done by a host alone", host)
	}
}

func TestSummariesOfVariants(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]Operation{
		"load module br_netfilter":                                  LoadModule{Module: "br_netfilter"},
		"unload module br_netfilter":                                LoadModule{Module: "br_netfilter", Unload: true},
		"turn swap off":                                             Swap{},
		"turn swap on again":                                        Swap{On: true, Boot: SwapReturns},
		"turn swap off, and mask swap.target":                       Swap{Boot: SwapStaysOff},
		"unmask swap.target":                                        Swap{Boot: SwapReturns},
		"cordon node w1":                                            Cordon{Node: "w1"},
		"uncordon node w1":                                          Cordon{Node: "w1", Undo: true},
		"mark the host as part of cluster prod":                     Mark{Marks: state.Marks{Cluster: "prod"}},
		"take kubewright's marks off the host":                      Mark{Remove: true},
		"wait for https://a/readyz":                                 Wait{For: WaitHTTP, URL: "https://a/readyz"},
		"wait for the API":                                          Wait{For: WaitAPI},
		"wait for pod kube-apiserver-cp1":                           Wait{For: WaitStaticPod, Name: "kube-apiserver-cp1"},
		"wait for node w1 to register":                              Wait{For: WaitNodeRegistered, Name: "w1"},
		"wait for node w1 to be ready":                              Wait{For: WaitNodeReady, Name: "w1"},
		"wait for /etc/kubernetes/kubelet.conf":                     Wait{For: WaitFile, Name: "/etc/kubernetes/kubelet.conf"},
		"wait for etcd to be restarted":                             Wait{For: WaitRestarted, Process: state.Process{Name: "etcd"}},
		"wait for /a.crt to be served at https://a":                 Wait{For: WaitServed, Name: "/a.crt", URL: "https://a"},
		"wait for etcd member cp2":                                  Wait{For: WaitEtcdStarted, Name: "cp2"},
		"put back the former /etc/fstab":                            Restore{Path: "/etc/fstab"},
		"compact what etcd keeps of the past":                       CompactEtcd{},
		"set etcd's data aside as member.before-1":                  SetAsideEtcd{As: "member.before-1"},
		"bring the operator's certificates and keys":                ImportSecrets{},
		"delete the bootstrap token":                                DeleteToken{},
		"restart the pods of DaemonSet kube-system/kube-proxy":      RestartPods{Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy"},
		"wait for node w1 to be ready with kubelet 1.36.3":          Wait{For: WaitNodeReady, Name: "w1", Version: "1.36.3"},
		"wait until node w1 has been back for 2m0s":                 Wait{For: WaitPause, Name: "w1", Pause: 2 * time.Minute},
		"wait until nobody answers at https://a/livez":              Wait{For: WaitClosed, URL: "https://a/livez"},
		"wait until every namespace has the CAs of /etc/pki/ca.crt": Wait{For: WaitRootCA, Name: "/etc/pki/ca.crt"},
		"wait for moon":                                             Wait{For: "moon"},
		"apply ConfigMap kubeadm-config":                            ApplyObject{Object: state.FromGo(map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "kubeadm-config"}})},
		"delete v1/ConfigMap/kube-system/kubeadm-xy":                DeleteObject{Ref: state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kubeadm-xy"}},
	} {
		if got := op.Summary(); got != want {
			t.Errorf("summary = %q, want %q", got, want)
		}
	}
}
