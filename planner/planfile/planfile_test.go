package planfile_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

func address(t *testing.T, text string) state.Address {
	t.Helper()
	a, err := state.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// everything is the progress of a plan whose begun steps may have changed every item.
var everything = &planfile.Progress{Touched: func(state.Address) bool { return true }}

const (
	kubeletFile = `node.w["w1"]/kubelet-start/file:/var/lib/kubelet/config.yaml`
	manifest    = `node.cp["cp1"]/control-plane/file:/etc/kubernetes/manifests/kube-apiserver.yaml`
)

// plan returns a plan that changes maxPods and an argument.
func plan(t *testing.T) *planner.Plan {
	t.Helper()
	return samplePlan()
}

func samplePlan() *planner.Plan {
	parse := func(text string) state.Address {
		a, err := state.ParseAddress(text)
		if err != nil {
			panic(err)
		}
		return a
	}
	change := func(item, path string, before, after state.Value) planner.Change {
		return planner.Change{
			Address: parse(item), Action: planner.Update, Reason: planner.ReasonConfigured,
			Attributes: []planner.AttributeChange{{Path: path, Before: before, After: after, Origin: state.Source{File: "a.hcl", Line: 3}}},
		}
	}
	kubelet, plane := parse(kubeletFile), parse(manifest)
	return &planner.Plan{
		FormatVersion: 1, ToolVersion: "1.0.0", Lineage: "l", Serial: 4, ConfigDigest: "c",
		Changes: []planner.Change{
			change(manifest, "args.audit-log-maxage", state.Value{}, state.String("30")),
			change(kubeletFile, "maxPods", state.Int(110), state.Int(200)),
		},
		Steps: []planner.Step{
			{ID: plane.Step(), Phase: "control-plane", Target: plane.Target, Operations: planner.Operations{planner.RemovePath{Path: "true"}}},
			{ID: kubelet.Step(), Phase: "kubelet-start", Target: kubelet.Target, Operations: planner.Operations{planner.RemovePath{Path: "/o"}}},
		},
	}
}

func TestPlanFileRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.kwplan")
	// Another user who can read the file's name cannot read the plan.
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	saved := planfile.File{Plan: plan(t), AllowUnreachable: true, PriorOutputs: map[string]state.Value{"o": state.String("x")}}
	if err := planfile.Write(path, saved, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	read, err := planfile.Read(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if planfile.Digest(read.Plan) != planfile.Digest(saved.Plan) || !read.AllowUnreachable || !read.PriorOutputs["o"].Equal(state.String("x")) {
		t.Errorf("got %+v", read)
	}
	again := path + ".again"
	if err := planfile.Write(again, read, nil); err != nil {
		t.Fatal(err)
	}
	one, two := must(t)(os.ReadFile(path)), must(t)(os.ReadFile(again))
	if !bytes.Equal(one, two) || !bytes.Contains(one, []byte(`{"op":"remove_path","done_when":"the path does not exist, or is an empty mount point","path":"/o"}`)) {
		t.Errorf("the plan that was read is written again as\n%s, was\n%s", two, one)
	}
}

// must fails the test if a file cannot be read.
func must(t *testing.T) func([]byte, error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// TestDamagedPlanFileIsRefused checks that any truncation or change of a file is detected.
func TestDamagedPlanFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.kwplan")
	if err := planfile.Write(path, planfile.File{Plan: plan(t)}, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimSpace(string(whole))
	refused := func(name, text string, want error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := planfile.Read(path, nil); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	for n := 30; n < len(body); n += 7 {
		refused("cut off", body[:n], planfile.ErrDamaged)
	}
	for i := bytes.Index(whole, []byte(`"saved":`)) + len(`"saved":`); i < len(body)-1; i += 5 {
		changed := []byte(body)
		changed[i] ^= 1
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		refused("changed", string(changed), planfile.ErrDamaged)
	}
	refused("newer", strings.Replace(body, `"format_version":2`, `"format_version":3`, 1), planfile.ErrNewer)
	_, err = planfile.Read(path, nil)
	if want := "read plan " + path + ": the saved plan was written by a later version of kubewright (1.0.0, format 3)"; err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// The other keys may be something else in a newer format.
	refused("newer, without a plan", `{"format_version":3,"kubewright_version":"9.0.0","sealed":"x"}`, planfile.ErrNewer)
	refused("newer, with other types", `{"format_version":3,"kubewright_version":"9.0.0","sha256":{"a":"b"},"saved":1}`, planfile.ErrNewer)
	saved := func(plan string) string {
		sum := sha256.Sum256([]byte(plan))
		return fmt.Sprintf(`{"format_version":2,"kubewright_version":"9.0.0","sha256":%q,"saved":%s}`, hex.EncodeToString(sum[:]), plan)
	}
	for unknown, text := range map[string]string{
		`json: unknown field "pools"`:                                     saved(`{"plan":{"pools":[1]}}`),
		`json: unknown field "again"`:                                     saved(`{"plan":{},"again":true}`),
		`cannot read operation remove_path: json: unknown field "slowly"`: saved(`{"plan":{"steps":[{"operations":[{"op":"remove_path","done_when":"x","path":"/a","slowly":true}]}]}}`),
		`cannot read operation "freeze": this version of kubewright`:      saved(`{"plan":{"steps":[{"operations":[{"op":"freeze"}]}]}}`),
	} {
		refused(unknown, text, planfile.ErrNewer)
		if _, err := planfile.Read(path, nil); !strings.Contains(err.Error(), "later version of kubewright (9.0.0): ") || !strings.Contains(err.Error(), unknown) {
			t.Errorf("got %v, want %s", err, unknown)
		}
	}
	refused("a state", `{"format_version":1,"lineage":"x"}`, planfile.ErrNoPlan)
	refused("a newer state", `{"format_version":3,"lineage":"x","tool_version":"9.0.0"}`, planfile.ErrNoPlan)
	refused("HCL", "cluster {}\n", planfile.ErrNoPlan)
	refused("nothing", "", planfile.ErrNoPlan)
	if err := planfile.Write(filepath.Join(path, "below"), planfile.File{Plan: plan(t)}, nil); err == nil || !strings.HasPrefix(err.Error(), "cannot save the plan: ") {
		t.Errorf("got %v", err)
	}
	if _, err := planfile.Read(path+".absent", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// worded is an operation with another wording of its done condition.
type worded struct{ planner.RemovePath }

func (worded) DoneWhen() string { return "it is gone" }

// TestPlanSavedWithoutDoneWhenIsTheSamePlan checks that a plan that was saved before operations had done conditions
// is the same plan.
func TestPlanSavedWithoutDoneWhenIsTheSamePlan(t *testing.T) {
	t.Parallel()
	const earlier = `{"plan":{"format_version":1,"tool_version":"1.0.0","serial":4,"steps":[` +
		`{"id":"node.w[\"w1\"]/kubelet-start","phase":"kubelet-start","target":"node.w[\"w1\"]","action":"update",` +
		`"operations":[{"op":"remove_path","path":"/o"}]}]}}`
	sum := sha256.Sum256([]byte(earlier))
	path := filepath.Join(t.TempDir(), "a.kwplan")
	text := fmt.Sprintf(`{"format_version":1,"kubewright_version":"1.0.0","sha256":%q,"saved":%s}`, hex.EncodeToString(sum[:]), earlier)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	saved, err := planfile.Read(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	// This is the digest that the previous version printed, and that reviewers have approved.
	if got, want := planfile.Digest(saved.Plan), "c68c05e335e0f102ab23ead3af8bae7ed912c6562f8620801823d6b21bedb73e"; got != want {
		t.Errorf("got digest %s, want %s", got, want)
	}
	id := address(t, `node.w["w1"]/kubelet-start`)
	now := &planner.Plan{FormatVersion: 1, ToolVersion: "2.0.0", Serial: 4, Steps: []planner.Step{{
		ID: id, Phase: id.Phase, Target: id.Target, Action: planner.Update, Operations: planner.Operations{planner.RemovePath{Path: "/o"}},
	}}}
	if d := planfile.Compare(saved.Plan, now, nil); len(d) > 0 {
		t.Errorf("it differs from the current plan: %v", d)
	}
}

// TestDigestDependsOnlyOnActions checks that the digest depends only on what is done.
func TestDigestDependsOnlyOnActions(t *testing.T) {
	t.Parallel()
	want := planfile.Digest(plan(t))
	for name, same := range map[string]func(*planner.Plan){
		"tool":   func(p *planner.Plan) { p.ToolVersion = "2.0.0" },
		"serial": func(p *planner.Plan) { p.Serial = 9 },
		"files": func(p *planner.Plan) {
			p.ConfigDigest, p.Commit = "d", "e"
			p.Changes[0].Attributes[0].Origin.Line = 99
		},
		"lines": func(p *planner.Plan) {
			p.Changes[0].Attributes[0].Origins = map[string]state.Source{"x": {File: "a.hcl", Line: 9}}
		},
		"shown":  func(p *planner.Plan) { p.Changes[0].Shown = map[string]state.Value{"days_left": state.Int(3)} },
		"cost":   func(p *planner.Plan) { p.Changes[0].Cost = planner.CostRestart },
		"way":    func(p *planner.Plan) { p.Steps[0].Via = p.Steps[1].Target },
		"policy": func(p *planner.Plan) { p.Policies = []planner.PolicyFinding{{Policy: "calm", Rule: "freeze"}} },
		"days": func(p *planner.Plan) {
			p.Certificates = []planner.CertificateEnd{{Path: "/x", DaysLeft: 3, Due: true}}
		},
		"warnings": func(p *planner.Plan) {
			p.Diagnostics = []diag.JSON{{Severity: diag.Warning, Summary: "Removed APIs are in use", Detail: "By 3."}}
		},
		"bytes": func(p *planner.Plan) { p.Steps[0].Expect = map[string]string{"file:/x": "1"} },
		"pods":  func(p *planner.Plan) { p.Steps[0].Pods = []planner.DrainedPod{{Name: "shop/web", Note: "Job"}} },
		"words": func(p *planner.Plan) {
			p.Steps[0].Operations[0] = worded{p.Steps[0].Operations[0].(planner.RemovePath)}
		},
	} {
		p := plan(t)
		same(p)
		if planfile.Digest(p) != want {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, other := range map[string]func(*planner.Plan){
		"value":     func(p *planner.Plan) { p.Changes[0].Attributes[0].After = state.String("31") },
		"before":    func(p *planner.Plan) { p.Changes[1].Attributes[0].Before = state.Int(50) },
		"operation": func(p *planner.Plan) { p.Steps[0].Operations[0] = planner.RemovePath{Path: "false"} },
		"order":     func(p *planner.Plan) { p.Steps[1].Needs = append(p.Steps[1].Needs, p.Steps[0].ID) },
		"target":    func(p *planner.Plan) { p.Targets = []string{"certs"} },
		"exception": func(p *planner.Plan) { p.OverriddenPolicies = []string{"calm"} },
		"lineage":   func(p *planner.Plan) { p.Lineage = "m" },
		"ground":    func(p *planner.Plan) { p.Steps[0].RestsOn = map[string]state.Value{"machine_id": state.String("m")} },
	} {
		p := plan(t)
		other(p)
		if planfile.Digest(p) == want {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

func TestComparePlans(t *testing.T) {
	t.Parallel()
	plane := address(t, manifest).Target
	proof := planner.Step{
		ID: state.Address{Target: plane, Phase: "wait-control-plane"}, Phase: "wait-control-plane", Target: plane, Action: planner.Update,
		Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-cp1", Hash: "h"}, planner.Wait{For: planner.WaitHTTP, URL: "https://10.0.0.11:6443/livez"}},
	}
	planesOnly := &planfile.Progress{Begun: []state.Address{address(t, manifest).Step()}, Touched: func(a state.Address) bool { return a.Target == plane }}
	other := planner.Change{Address: address(t, `node.w["w1"]/other/file:/o`), Action: planner.Create, Attributes: []planner.AttributeChange{{Path: "x", After: state.Int(1)}}}
	otherStep := planner.Step{ID: other.Address.Step(), Target: other.Address.Target, Operations: planner.Operations{planner.WriteFile{Path: "/o"}}}
	kubeletBegun := &planfile.Progress{Begun: []state.Address{address(t, kubeletFile).Step()}, Touched: func(state.Address) bool { return false }}
	kubeletBegunHere := &planfile.Progress{Touched: func(a state.Address) bool { return a.Target == address(t, kubeletFile).Target }}
	recorded := func(maxPods int64, kind state.Kind) *planfile.Progress {
		it := &state.Item{Address: address(t, kubeletFile), Kind: kind, Attributes: state.Map(map[string]state.Value{"maxPods": state.Int(maxPods), "x": state.Int(2)})}
		return &planfile.Progress{Touched: everything.Touched, Recorded: func(a state.Address) *state.Item {
			if a != it.Address {
				return nil
			}
			return it
		}}
	}
	found := func(kind state.Kind, attributes ...planner.AttributeChange) func(p *planner.Plan) {
		return func(p *planner.Plan) { p.Changes[1].Kind, p.Changes[1].Attributes = kind, attributes }
	}
	pods := func(n int64) planner.AttributeChange {
		return planner.AttributeChange{Path: "maxPods", Before: state.Int(n), After: state.Int(200)}
	}
	x := func(n int64) planner.AttributeChange {
		return planner.AttributeChange{Path: "x", Before: state.Int(n), After: state.Int(2)}
	}
	reread := planner.AttributeChange{Path: planner.StaleFiles, Before: state.Strings("/x")}
	done := recorded(200, state.KindYAMLFile)
	for _, tt := range []struct {
		name     string
		progress *planfile.Progress
		change   func(p *planner.Plan)
		want     []string
	}{
		{"nothing", nil, func(*planner.Plan) {}, nil},
		{"a value moved", nil, func(p *planner.Plan) { p.Changes[1].Attributes[0].Before = state.Int(50) }, []string{kubeletFile + "#maxPods has changed"}},
		{"a field more", nil, func(p *planner.Plan) {
			p.Changes[1].Attributes = append(p.Changes[1].Attributes, planner.AttributeChange{Path: "x", Before: state.Int(1), After: state.Int(2)})
		}, []string{kubeletFile + "#x has changed"}},
		{"a field less", nil, func(p *planner.Plan) {
			p.Changes[1].Attributes = []planner.AttributeChange{{Path: "x", Before: state.Int(1), After: state.Int(2)}}
		}, []string{kubeletFile + "#x has changed", kubeletFile + "#maxPods has changed"}},
		{"an exception from a policy", nil, func(p *planner.Plan) { p.OverriddenPolicies = []string{"calm"} }, nil},
		{"another goal", nil, func(p *planner.Plan) { p.Changes[1].Attributes[0].After = state.Int(250) }, []string{kubeletFile + "#maxPods would be changed in another way"}},
		{"done by another user", nil, func(p *planner.Plan) { p.Changes, p.Steps = p.Changes[:1], p.Steps[:1] }, []string{kubeletFile + "#maxPods is already as planned"}},
		{"another action", nil, func(p *planner.Plan) { p.Changes[1].Action = planner.Create }, []string{kubeletFile + "# would be changed in another way"}},
		{"another operation", nil, func(p *planner.Plan) { p.Steps[1].Operations = planner.Operations{planner.RemovePath{Path: "false"}} }, []string{`node.w["w1"]/kubelet-start would be changed in another way`}},
		{"another impact", nil, func(p *planner.Plan) { p.Steps[1].Impact = "2 pods to evict" }, []string{`node.w["w1"]/kubelet-start#impact has changed`}},
		{"another ground", nil, func(p *planner.Plan) { p.Steps[1].RestsOn = map[string]state.Value{"machine_id": state.String("m")} }, []string{`node.w["w1"]/kubelet-start#machine_id has changed`}},
		{"begun elsewhere, and another ground", planesOnly, func(p *planner.Plan) { p.Steps[1].RestsOn = map[string]state.Value{"machine_id": state.String("m")} }, []string{`node.w["w1"]/kubelet-start#machine_id has changed`}},
		{"begun, and another ground", kubeletBegunHere, func(p *planner.Plan) { p.Steps[1].RestsOn = map[string]state.Value{"machine_id": state.String("m")} }, nil},
		{"another order", nil, func(p *planner.Plan) { p.Steps[1].Needs = append(p.Steps[1].Needs, p.Steps[0].ID) }, []string{" would be changed in another way"}},
		{"a proof more", nil, func(p *planner.Plan) {
			p.Steps = append(p.Steps, proof)
			p.Steps[1].Needs = append(p.Steps[1].Needs, proof.ID)
		}, nil},
		{"a proof more, and another order", nil, func(p *planner.Plan) { p.Steps = append([]planner.Step{proof}, p.Steps[1], p.Steps[0]) }, nil},
		{"a proof more, and another operation", nil, func(p *planner.Plan) {
			p.Steps = append(p.Steps, proof)
			p.Steps[1].Operations = planner.Operations{planner.RemovePath{Path: "false"}}
		}, []string{`node.w["w1"]/kubelet-start would be changed in another way`}},
		{"begun, with a proof of what it wrote", everything, func(p *planner.Plan) { p.Changes, p.Steps = p.Changes[:1], append([]planner.Step{proof}, p.Steps[0]) }, nil},
		{"a part is done", everything, func(p *planner.Plan) { p.Changes, p.Steps = p.Changes[:1], p.Steps[:1] }, nil},
		{"half of it is done", everything, func(p *planner.Plan) { p.Changes[1].Attributes[0].Before = state.Int(50) }, nil},
		{"done, and another value since", done, found(state.KindYAMLFile, pods(9)), []string{kubeletFile + "#maxPods has changed"}},
		{"done, and another field since", done, found(state.KindYAMLFile, x(1)), []string{kubeletFile + "#x has changed"}},
		{"done, and as it was before", done, found(state.KindYAMLFile, pods(110)), nil},
		{"done, and to be reread", done, found(state.KindStaticPod, reread), nil},
		{"done, and not as a unit was left", recorded(200, state.KindUnit), found(state.KindUnit, pods(9)), nil},
		{"done, and gone since", done, func(p *planner.Plan) { found(state.KindYAMLFile, pods(9))(p); p.Changes[1].Action = planner.Create }, nil},
		{"begun, and another value than recorded", recorded(110, state.KindYAMLFile), found(state.KindYAMLFile, pods(9)), nil},
		{"begun, with another goal", everything, func(p *planner.Plan) { p.Changes[1].Attributes[0].After = state.Int(250) }, []string{kubeletFile + "#maxPods would be changed in another way"}},
		{"begun, and to be deleted", everything, func(p *planner.Plan) { p.Changes[1].Action = planner.Delete }, []string{kubeletFile + " would be changed in another way"}},
		{"begun, with a component to be restarted", everything, func(p *planner.Plan) {
			p.Changes = append(p.Changes, planner.Change{
				Address: state.Address{Target: p.Steps[0].Target, Phase: p.Steps[0].Phase, Item: "file:/etc/kubernetes/manifests/kube-scheduler.yaml"}, Action: planner.Update,
				Attributes: []planner.AttributeChange{{Path: planner.StaleFiles, Before: state.Strings("/etc/kubernetes/scheduler.conf")}},
			})
		}, nil},
		{"begun elsewhere, and a value moved", planesOnly, func(p *planner.Plan) { p.Changes[1].Attributes[0].Before = state.Int(50) }, []string{kubeletFile + "#maxPods has changed"}},
		{"begun, and a value moved where it was", planesOnly, func(p *planner.Plan) { p.Changes[0].Attributes[0].Before = state.String("5") }, nil},
		{"begun elsewhere, and a field more", planesOnly, func(p *planner.Plan) {
			p.Changes[1].Attributes = append(p.Changes[1].Attributes, planner.AttributeChange{Path: "x", Before: state.Int(1), After: state.Int(2)})
		}, []string{kubeletFile + "#x has changed"}},
		{"begun elsewhere, and more to be reread", planesOnly, func(p *planner.Plan) {
			p.Changes[1].Attributes = append(p.Changes[1].Attributes, planner.AttributeChange{Path: planner.StaleFiles, Before: state.Strings("/x")})
		}, nil},
		{"begun elsewhere, and done by another user", planesOnly, func(p *planner.Plan) { p.Changes, p.Steps = p.Changes[:1], p.Steps[:1] }, []string{kubeletFile + "#maxPods is already as planned"}},
		{"begun elsewhere, and not seen", planesOnly, func(p *planner.Plan) {
			p.Changes, p.Steps = p.Changes[:1], p.Steps[:1]
			p.Withheld = []state.Unobserved{{Target: state.NodeKeyTarget("w", "w1")}}
		}, nil},
		{"begun, and done where it was", planesOnly, func(p *planner.Plan) { p.Changes, p.Steps = p.Changes[1:], p.Steps[1:] }, nil},
		{"begun, with an item that drifted", planesOnly, func(p *planner.Plan) {
			p.Changes[1].Address = address(t, `node.w["w1"]/kubelet-start/file:/x`)
			p.Changes = append(p.Changes, plan(t).Changes[1])
		}, []string{`node.w["w1"]/kubelet-start/file:/x#maxPods would be changed now as well`}},
		{"with a file that is gone", nil, func(p *planner.Plan) { p.Changes, p.Steps = append(p.Changes, other), append(p.Steps, otherStep) }, []string{other.Address.String() + " would be changed now as well"}},
		{"begun elsewhere, with a file that is gone", planesOnly, func(p *planner.Plan) { p.Changes, p.Steps = append(p.Changes, other), append(p.Steps, otherStep) }, []string{other.Address.String() + " would be changed now as well", other.Address.Step().String() + " would be changed now as well"}},
		{"begun, with a file that it has taken away", kubeletBegun, func(p *planner.Plan) { p.Changes, p.Steps = append(p.Changes, other), append(p.Steps, otherStep) }, nil},
		{"begun, with a stranger", everything, func(p *planner.Plan) {
			p.Changes[1].Address = address(t, `node.w["w2"]/kubelet-start/file:/x`)
			p.Steps[1].ID = p.Changes[1].Address.Step()
		}, []string{`node.w["w2"]/kubelet-start/file:/x#maxPods would be changed now as well`}},
		{"begun elsewhere, with a stranger", planesOnly, func(p *planner.Plan) {
			p.Steps = append(p.Steps, planner.Step{ID: address(t, `node.w["w2"]/drain/x:y`).Step(), Operations: planner.Operations{planner.RemovePath{Path: "/x"}}})
		}, []string{`node.w["w2"]/drain would be changed now as well`}},
	} {
		now := plan(t)
		tt.change(now)
		var got []string
		for _, d := range planfile.Compare(plan(t), now, tt.progress) {
			line := d.Address.String()
			if d.Path != "" || d.What == planfile.Otherwise && !d.Saved.IsNull() && tt.progress == nil {
				line += "#" + d.Path
			}
			got = append(got, line+" "+d.What)
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// TestCompareIgnoresDriftedItemsPriorValue checks a drifted item: it was recorded with its goal before anything was done,
// so a difference from the goal does not show a later change.
func TestCompareIgnoresDriftedItemsPriorValue(t *testing.T) {
	t.Parallel()
	saved, now := plan(t), plan(t)
	saved.Changes[1].Reason = planner.ReasonDrift
	now.Changes[1].Kind, now.Changes[1].Attributes[0].Before = state.KindYAMLFile, state.Int(9)
	it := &state.Item{Attributes: state.Map(map[string]state.Value{"maxPods": state.Int(200)})}
	progress := &planfile.Progress{Touched: everything.Touched, Recorded: func(state.Address) *state.Item { return it }}
	if got := planfile.Compare(saved, now, progress); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

// TestCompareIgnoresWaitThatIsNoLongerNeeded checks that a step that had to wait for a component when the plan was
// saved is no difference once the component runs.
func TestCompareIgnoresWaitThatIsNoLongerNeeded(t *testing.T) {
	t.Parallel()
	saved, now := plan(t), plan(t)
	target := address(t, `node.cp["cp2"]/x`).Target
	saved.Resources = []planner.ResourceChange{{Target: target, Action: planner.Update}}
	now.Resources = []planner.ResourceChange{{Target: target, Action: planner.NoOp, Unchanged: 9}}
	saved.Steps = append(saved.Steps, planner.Step{
		ID: state.Address{Target: target, Phase: "wait-control-plane"}, Target: target, Action: planner.Update,
		Operations: planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "kube-scheduler-cp2"}},
	})
	if got := planfile.Compare(saved, now, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	// Another component that has to be waited for by now is no difference either.
	more := saved.Steps[len(saved.Steps)-1]
	more.Operations = append(planner.Operations{planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-cp2"}}, more.Operations...)
	more.Impact = "waits until kube-apiserver, kube-scheduler run here"
	now.Steps = append(now.Steps, more)
	if got := planfile.Compare(saved, now, nil); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestCompareIgnoresValuesKnownOnlyAfterApply checks that a value that only an earlier step could reveal is no
// difference once that step has run.
func TestCompareIgnoresValuesKnownOnlyAfterApply(t *testing.T) {
	t.Parallel()
	saved, now := plan(t), plan(t)
	saved.Changes[1].Attributes[0].After = state.PendingValue("step", "ca")
	now.Changes[1].Attributes[0].After = state.String("abc")
	if got := planfile.Compare(saved, now, everything); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := planfile.Compare(saved, now, nil); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	saved.Changes[1].Attributes[0].After = state.SensitiveValue("variable:x", "")
	now.Changes[1].Attributes[0].After = state.SensitiveValue("variable:x", "1234")
	if got := planfile.Compare(saved, now, everything); len(got) != 0 {
		t.Errorf("a secret of a plan without fingerprints: got %v", got)
	}
	saved.Changes[1].Attributes[0].After = state.SensitiveValue("variable:x", "5678")
	if got := planfile.Compare(saved, now, everything); len(got) != 1 {
		t.Errorf("another secret: got %v", got)
	}
}

// TestDigestDependsOnWithheldTargets checks that the digest depends on which targets are withheld, not on the
// reason.
func TestDigestDependsOnWithheldTargets(t *testing.T) {
	t.Parallel()
	withheld := func(u ...state.Unobserved) string {
		p := plan(t)
		p.Withheld = u
		return planfile.Digest(p)
	}
	of := func(reason string) string {
		return withheld(state.Unobserved{Target: state.ClusterTarget("prod"), Reason: reason})
	}
	if of("no answer through cp1") != of("no answer through cp2") {
		t.Error("the reason changes the digest")
	}
	if of("no answer") == withheld() {
		t.Error("a withheld target does not change the digest")
	}
}
