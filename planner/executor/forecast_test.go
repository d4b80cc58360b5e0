package executor_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// forked returns a chain of two control planes under a limit, beside a longer and a shorter branch.
func forked() *planner.Plan {
	p := planOf(step("images", 0), limited(step("cp1", 0, "images"), "disruption"), limited(step("cp2", 0, "images"), "disruption"),
		step("addon", 0, "cp1", "cp2"), step("worker", 0, "images"))
	p.Limits = map[string]int{"disruption": 1}
	return p
}

var took = map[string]time.Duration{
	"images": 2 * time.Second, "cp1": 7 * time.Second, "cp2": 5 * time.Second, "addon": time.Second, "worker": 12 * time.Second,
}

func durations(took map[string]time.Duration) map[string]float64 {
	out := map[string]float64{}
	for phase, d := range took {
		out[state.DurationKey(phase, string(planner.Create))] = d.Seconds()
	}
	return out
}

func names(spans []executor.Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Step.Phase)
	}
	return out
}

// TestForecastMatchesRun runs a plan whose steps take as long as forecast, and checks that every
// step starts and ends at the forecast times, also with less parallelism than steps.
func TestForecastMatchesRun(t *testing.T) {
	t.Parallel()
	for _, parallelism := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			want := executor.Forecast(forked(), durations(took), parallelism)
			out, err := executor.Execute(t.Context(), forked(), &fakeRunner{took: took}, &memoryJournal{},
				executor.Options{ID: "r", Parallelism: parallelism, Durations: durations(took)})
			if err != nil || !out.OK() {
				t.Fatal(out, err)
			}
			got := out.Timeline(forked())
			if !slices.Equal(got.Steps, want.Steps) || !slices.Equal(got.Critical, want.Critical) || got.Seconds != want.Seconds {
				t.Errorf("parallelism %d:\n was %+v\nwant %+v", parallelism, got, want)
			}
		})
	}
}

func TestForecastNamesTheLongestChain(t *testing.T) {
	t.Parallel()
	all := executor.Forecast(forked(), durations(took), 0)
	if all.Seconds != 15 || all.Unknown != 0 || !slices.Equal(names(all.Critical), []string{"images", "cp1", "cp2", "addon"}) {
		t.Errorf("forecast %+v", all)
	}
	some := map[string]time.Duration{"images": 2 * time.Second, "worker": 12 * time.Second}
	part := executor.Forecast(forked(), durations(some), 0)
	if part.Seconds != 14 || part.Unknown != 3 || !slices.Equal(names(part.Critical), []string{"images", "worker"}) {
		t.Errorf("forecast %+v", part)
	}
	none := executor.Forecast(forked(), nil, 0)
	if none.Seconds != 0 || none.Unknown != 5 {
		t.Errorf("forecast without durations: %+v", none)
	}
	if cyclic := executor.Forecast(planOf(step("a", 0, "b"), step("b", 0, "a")), nil, 0); cyclic.Steps != nil {
		t.Errorf("forecast of a cycle: %+v", cyclic)
	}
}
