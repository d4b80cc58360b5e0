package listing

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// at is a time of the samples.
func at(hour int) time.Time { return time.Date(2026, time.March, 2, hour, 0, 0, 0, time.UTC) }

// fullStatus is a status with a value in every field, some of them hostile.
func fullStatus() Status {
	first := &ExpiringCertificate{Node: "node.cp", Host: "cp1", Path: "/etc/kubernetes/admin.conf", NotAfter: at(20), DaysLeft: 0, Due: true}
	s := Status{
		Time: at(12), OutputsDiffer: true,
		State: StateStatus{Place: "https://states/prod", Exists: true, Lineage: "l", Serial: 7, Locked: new(true), Silent: true, Holder: &LockHolder{
			Run: "r2", Who: "grace@desk\x1b[2J", Operation: "apply", PID: 1, Since: at(9), Renewed: at(11),
		}},
		Applies: []Applied{applied(state.Apply{Time: at(9), Ended: at(10), Run: "r2", Who: "grace@desk", Plan: "0123456789abcdef01", Steps: 4, Done: 2, Failed: 1, Unfinished: true, Job: state.Job{
			Operation: "apply", ToolVersion: "1.0.0", Commit: "c0ffee", Add: 1, Change: 2, Destroy: 3, Restricted: true, Observed: at(8),
		}}, "")},
		Clusters: []ClusterStatus{{
			Name: "prod", Created: true, Configured: "1.36.3", API: APIStatus{Answers: new(false), Version: "v1.36.2", Reason: "no route"},
			Nodes: []NodeStatus{
				{Address: "node.cp", Name: "cp1", Role: "control-plane", HostAnswers: true, Ready: state.NodeReady, Cordoned: true, Kubelet: "1.36.3", APIServer: "1.36.3", Certificate: first},
				{Address: "node.old[\"a\\b\nc\xff\"]", Role: "worker", Leaving: true, Reason: "no route", Ready: state.NodeSilent, Kubelet: "1.35.8"},
			},
			Etcd: EtcdHealth{ID: "9f", Voters: 1, Healthy: 1, Quorum: 1, Members: []state.EtcdMember{
				{ID: "1", Name: "cp1", Healthy: true, DBSize: 3 << 20, DBInUse: 1 << 20, Alarms: []string{"NOSPACE"}}, {ID: "2", Learner: true},
			}},
			Certificates: CertificatesStatus{First: first, Due: 2, Expired: 1, Unreadable: 1},
			Snapshot:     &SnapshotStatus{Folder: "/srv/kubewright.snapshots", Path: "/srv/kubewright.snapshots/a", Taken: at(11), AgeSeconds: 3600},
			Backup:       &BackupStatus{Name: "prod-20260302T110000Z-cp1.tar.age", Taken: at(11), AgeSeconds: 3600, Overdue: true, Failure: "no space left on device"},
			Differences: Differences{Known: true, NotObserved: 1, After: at(8), Pending: &Counts{1, 2, 3}, Outside: []OutsideChange{
				{Address: "node.cp/certs/file:/a", Written: at(10)}, {Address: "b"}, {Address: "c"}, {Address: "d"}, {Address: "e"}, {Address: "f"},
			}},
		}, {
			Name: "ext", API: APIStatus{}, Etcd: EtcdHealth{External: true}, Certificates: CertificatesStatus{Unreadable: 1},
			Differences: Differences{Reasons: []string{"Setting is immutable", "State is older than its hosts"}},
		}, {
			Name: "imported", Created: true, API: APIStatus{Answers: new(true), Version: "v1.36.3"}, Configured: "1.36.3", Etcd: EtcdHealth{Reason: "no route"},
			Snapshot: &SnapshotStatus{Reason: "permission denied"}, Differences: Differences{Known: true, Outside: []OutsideChange{{Address: "a"}}, Pending: &Counts{}},
		}},
	}
	for i := range 14 {
		s.Clusters[0].Problems = append(s.Clusters[0].Problems, Problem{Kind: ProblemHost, Address: fmt.Sprintf("node.w[%d]", i), Text: "its host does not answer", Remedy: "start it"})
	}
	s.Clusters[0].Problems[0] = Problem{Kind: ProblemAPI, Text: "the API does not answer: \x1b[2Jno route"}
	return s
}

// TestStatusText checks the text with all that can be wrong, on a wide terminal and on a narrow one.
// What stands below an address is not wrapped.
func TestStatusText(t *testing.T) {
	t.Parallel()
	compare(t, "status_wide.txt", textOf(t, fullStatus(), 160))
	narrow := textOf(t, fullStatus(), 50)
	compare(t, "status_narrow.txt", narrow)
	text, _, _ := strings.Cut(narrow, "Last applies") // a table keeps its last columns
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > 50 && !strings.Contains(line, "written") {
			t.Errorf("wider than the terminal: %s", line)
		}
	}
	unlocked := Status{State: StateStatus{Place: "/srv/kubewright.state.json", Local: true, Reason: "no route"}}
	if got, want := textOf(t, unlocked, 80), "State: none yet, its place is kubewright.state.json\n  Lock          unknown: no route\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestStatusMetrics checks the metrics of the same status.
func TestStatusMetrics(t *testing.T) {
	t.Parallel()
	compare(t, "status_metrics.txt", metricsOf(t, fullStatus()))
}

func textOf(t *testing.T, s Status, width int) string {
	t.Helper()
	var out bytes.Buffer
	if err := StatusText(&out, s, ui.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// compare compares an output with a golden file; UPDATE=1 writes it.
func compare(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || got != string(want) {
		t.Errorf("%s: %v, got\n%s", name, err, got)
	}
}

// metricLine is a line of OpenMetrics 1.0 with a sample of a gauge: without a timestamp, and with a
// number that has neither an exponent nor a sign.
var metricLine = regexp.MustCompile(`^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)+)\})? ([0-9]+(?:\.[0-9]+)?)$`)

// TestStatusMetricsAreOpenMetrics checks that the metrics are OpenMetrics 1.0 by its grammar: each
// family in one piece, with type, unit and help in this order, the unit at the end of the name, no
// series twice, and the mark at the end; and that every family has a sample.
func TestStatusMetricsAreOpenMetrics(t *testing.T) {
	t.Parallel()
	text := metricsOf(t, fullStatus())
	body, end := strings.CutSuffix(text, "# EOF\n")
	if !end || strings.Contains(body, "# EOF") || strings.Contains(body, "\n\n") || strings.Contains(body, "\r") {
		t.Fatalf("the mark at the end is missing or not alone:\n%s", text)
	}
	seen, series := []string{}, map[string]bool{}
	family, heads := "", []string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		if head, is := strings.CutPrefix(line, "# "); is {
			kind, rest, _ := strings.Cut(head, " ")
			name, value, _ := strings.Cut(rest, " ")
			if kind == "TYPE" {
				if slices.Contains(seen, name) || value != "gauge" {
					t.Errorf("%s: %s is there twice, or no gauge", line, name)
				}
				seen, family, heads = append(seen, name), name, nil
			}
			if heads = append(heads, kind); name != family || kind == "UNIT" && !strings.HasSuffix(name, "_"+value) || value == "" {
				t.Errorf("%s does not belong here, or its unit is not in its name", line)
			}
			continue
		}
		m := metricLine.FindStringSubmatch(line)
		if m == nil || m[1] != family {
			t.Errorf("not a sample of %s: %s", family, line)
			continue
		}
		if got := strings.Join(heads, " "); got != "TYPE HELP" && got != "TYPE UNIT HELP" {
			t.Errorf("%s begins with %s", family, got)
		}
		if id := m[1] + "{" + m[2] + "}"; series[id] {
			t.Errorf("%s is there twice", id)
		} else {
			series[id] = true
		}
	}
	for _, f := range MetricFamilies() {
		if !slices.Contains(seen, f.Name) || !strings.HasPrefix(f.Name, "kubewright_") {
			t.Errorf("%s has no sample", f.Name)
		}
	}
}

// TestStatusMetricsAreReadByPrometheus checks that the parser of Prometheus' older text format, which
// node_exporter's textfile collector uses, reads the metrics with their labels.
func TestStatusMetricsAreReadByPrometheus(t *testing.T) {
	t.Parallel()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metricsOf(t, fullStatus())))
	if err != nil || len(families) != len(MetricFamilies()) {
		t.Fatalf("%d families, %v", len(families), err)
	}
	hosts := families["kubewright_host_up"].GetMetric()
	if len(hosts) != 2 || hosts[0].GetGauge().GetValue() != 1 || hosts[1].GetGauge().GetValue() != 0 {
		t.Fatalf("got %v", hosts)
	}
	if got, want := hosts[1].GetLabel()[1].GetValue(), "node.old[\"a\\b\nc�\"]"; got != want {
		t.Errorf("got the label %q, want %q", got, want)
	}
	// What is not known has no sample.
	if ready := families["kubewright_api_up"].GetMetric(); len(ready) != 2 {
		t.Errorf("the cluster that is not created has a sample: %v", ready)
	}
}

func metricsOf(t *testing.T, s Status) string {
	t.Helper()
	var out bytes.Buffer
	if err := StatusMetrics(&out, s, ui.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestStatusFormatsPage checks that the page of the forms names every field of the documents and
// has the table of the metrics.
func TestStatusFormatsPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "..", "..", "..", "docs", "reference", "status-formats.md")
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, name := range fieldNames(reflect.TypeFor[Status]()) {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page does not name the field %s", name)
		}
	}
	table := "<!-- metrics -->\n| metric | labels | meaning |\n|---|---|---|\n"
	for _, f := range MetricFamilies() {
		labels := "-"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		table += "| `" + f.Name + "` | " + labels + " | " + f.Help + " |\n"
	}
	marked := regexp.MustCompile(`(?s)<!-- metrics -->\n.*<!-- /metrics -->`)
	want := marked.ReplaceAllLiteralString(text, table+"<!-- /metrics -->")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != text || !marked.MatchString(text) {
		t.Errorf("the page has another table of metrics; UPDATE=1 writes it:\n%s", table)
	}
}

// fieldNames returns the names of the JSON fields of a type and of those below it that belong to
// this package.
func fieldNames(typ reflect.Type) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[Status]().PkgPath() {
		return nil
	}
	var out []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		out = append(append(out, name), fieldNames(typ.Field(i).Type)...)
	}
	return out
}
