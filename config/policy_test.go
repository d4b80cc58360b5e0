package config_test

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// TestFreeze checks when a freeze holds, by the wall clock of its zone.
func TestFreeze(t *testing.T) {
	t.Parallel()
	berlin := func(f config.Freeze) config.Freeze { f.Zone = "Europe/Berlin"; return f }
	night := berlin(config.Freeze{From: "22:00", To: "06:00", Weekdays: []string{"fri"}})
	weekend := berlin(config.Freeze{From: "fri 16:00", To: "mon 08:00"})
	for _, tt := range []struct {
		name   string
		freeze config.Freeze
		at     string
		until  string // empty if it does not hold
	}{
		{"before a moment", config.Freeze{From: "2026-12-20", To: "2026-12-21", Zone: "UTC"}, "2026-12-19T23:59:59Z", ""},
		{"at a moment", config.Freeze{From: "2026-12-20", To: "2026-12-21", Zone: "UTC"}, "2026-12-20T00:00:00Z", "2026-12-21T00:00:00Z"},
		{"at its end", config.Freeze{From: "2026-12-20", To: "2026-12-21", Zone: "UTC"}, "2026-12-21T00:00:00Z", ""},
		{"a moment elsewhere", berlin(config.Freeze{From: "2026-12-20 18:00", To: "2026-12-21T07:30"}), "2026-12-20T17:00:00Z", "2026-12-21T06:30:00Z"},
		{"a night that began", night, "2026-03-06T21:00:00Z", "2026-03-07T05:00:00Z"},
		{"its morning is of the day before", night, "2026-03-07T04:59:00Z", "2026-03-07T05:00:00Z"},
		{"another morning", night, "2026-03-06T04:59:00Z", ""},
		{"an hour within a day", config.Freeze{From: "12:00", To: "13:00", Zone: "UTC"}, "2026-03-06T12:30:00Z", "2026-03-06T13:00:00Z"},
		{"not on that day", config.Freeze{From: "12:00", To: "13:00", Weekdays: []string{"Monday"}, Zone: "UTC"}, "2026-03-06T12:30:00Z", ""},
		{"until midnight", config.Freeze{From: "12:00", To: "24:00", Zone: "UTC"}, "2026-03-06T23:59:00Z", "2026-03-07T00:00:00Z"},
		{"all of a day", berlin(config.Freeze{Weekdays: []string{"sat"}}), "2026-03-06T23:00:00Z", "2026-03-07T23:00:00Z"},
		{"consecutive days end one by one", berlin(config.Freeze{Weekdays: []string{"sat", "sun"}}), "2026-03-07T12:00:00Z", "2026-03-07T23:00:00Z"},
		{"a weekend", weekend, "2026-03-08T12:00:00Z", "2026-03-09T07:00:00Z"},
		{"on its way out", weekend, "2026-03-09T06:59:59Z", "2026-03-09T07:00:00Z"},
		{"the day before it", weekend, "2026-03-06T14:59:00Z", ""},
		{"nearly a week", config.Freeze{From: "mon 08:00", To: "mon 07:00", Zone: "UTC"}, "2026-03-09T06:00:00Z", "2026-03-09T07:00:00Z"},
		{"the gap in it", config.Freeze{From: "mon 08:00", To: "mon 07:00", Zone: "UTC"}, "2026-03-09T07:30:00Z", ""},
		// Clocks go forward at 02:00 on 29 March 2026, to 03:00; back on 25 October.
		{"an hour that summer time skips", berlin(config.Freeze{From: "01:30", To: "03:30"}), "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		{"an hour that comes twice", berlin(config.Freeze{From: "22:00", To: "06:00"}), "2026-10-25T04:59:00Z", "2026-10-25T05:00:00Z"},
		{"the day is 25 hours long", berlin(config.Freeze{Weekdays: []string{"sun"}}), "2026-10-25T22:59:00Z", "2026-10-25T23:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		until, active := tt.freeze.Active(at)
		got := ""
		if active {
			got = until.UTC().Format(time.RFC3339)
		}
		if got != tt.until {
			t.Errorf("%s: until %q, want %q", tt.name, got, tt.until)
		}
	}
}

func TestTargetPatterns(t *testing.T) {
	t.Parallel()
	cp1 := state.NodeKeyTarget("cp", "cp1")
	for _, tt := range []struct {
		pattern string
		target  state.Target
		want    bool
	}{
		{`node.cp["cp1"]`, cp1, true},
		{`node.cp["cp2"]`, cp1, false},
		{"node.cp", cp1, true},
		{"node.c*", cp1, true},
		{"node.*p", cp1, true},
		{`node.cp["*"]`, cp1, true},
		{`node.*["cp1"]`, cp1, true},
		{"node.c", cp1, false},
		{"*", cp1, true},
		{"**1**", cp1, true},
		{"cluster.*", cp1, false},
		{"cluster.*", state.ClusterTarget("prod"), true},
		{"cluster.prod", state.AddonTarget("prod", "cni"), false},
		{`cluster.prod.addon["*"]`, state.AddonTarget("prod", "cni"), true},
		{"node.cp", state.NodeTarget("cp"), true},
		{"node.*.x.*", state.NodeTarget("a.x."), true},
		{"a*a", state.NodeTarget("a"), false},
	} {
		if got := config.Matches(tt.pattern, tt.target); got != tt.want {
			t.Errorf("%s matches %s: %v", tt.pattern, tt.target, got)
		}
	}
}
