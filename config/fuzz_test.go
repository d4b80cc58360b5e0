package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
)

// FuzzFreeze checks that no freeze panics, whatever its times, and that an active one stays
// active until the moment that it reports, up to right before it, and for no longer than a week
// and a day.
func FuzzFreeze(f *testing.F) {
	const at = 1772870400 // 2026-03-07, a Saturday
	for _, s := range [][4]string{
		{"2026-12-20 18:00", "2027-01-07T08:00", "", "UTC"},
		{"2026-03-07", "2026-03-08", "", "Europe/Berlin"},
		{"fri 16:00", "mon 07:00", "", "Europe/Berlin"},
		{"Monday 08:00", "mon 07:00", "", "America/New_York"},
		{"22:00", "6:00", "fri,sat", "Asia/Kathmandu"},
		{"12:00", "24:00", "", "Pacific/Apia"},
		{"01:30", "03:30", "sun", "Europe/Berlin"},
		{"", "", "sat,sun", "Australia/Lord_Howe"},
		{"fri", "25:00", "someday", "Nowhere"},
		{"fri -1:00", "mon 07:60", "", "Local"},
	} {
		f.Add(s[0], s[1], s[2], s[3], int64(at))
	}
	f.Fuzz(func(t *testing.T, from, to, days, zone string, seconds int64) {
		freeze := config.Freeze{Name: "f", From: from, To: to, Zone: zone}
		if days != "" {
			freeze.Weekdays = strings.Split(days, ",")
		}
		at := time.Unix(seconds%(1<<37), 0) // about four thousand years in both directions
		until, active := freeze.Active(at)
		if !active {
			return
		}
		if !until.After(at) {
			t.Errorf("%+v holds at %s until %s", freeze, at, until)
		}
		if later, still := freeze.Active(until.Add(-time.Nanosecond)); !still || later.Before(until) {
			t.Errorf("%+v holds at %s until %s, and right before that %t until %s", freeze, at, until, still, later)
		}
		if moment := strings.Count(from, "-") >= 2; !moment && until.Sub(at) > 8*24*time.Hour {
			t.Errorf("%+v holds at %s until %s", freeze, at, until)
		}
	})
}

// FuzzVersionMatches checks that no constraint panics, that several hold if each does, and that
// a constraint and its opposite never both hold.
func FuzzVersionMatches(f *testing.F) {
	for _, s := range [][2]string{
		{"0.1.0", ">= 0.1.0, < 2.0.0"},
		{"1.2.3", "~> 1.2"},
		{"1.2.3", "~>1.2.0,!= 1.2.4"},
		{"v1.0.0-dev", "= 1"},
		{"1.0.0-rc.1+build", "> 1.0.0-alpha"},
		{"999999999.999999999.999999999", "~> 999999999"},
		{"1", ","},
		{"1.2.3.4", "=> 1"},
		{"", ""},
	} {
		f.Add(s[0], s[1])
	}
	opposite := map[string]string{"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
	f.Fuzz(func(t *testing.T, have, constraints string) {
		all, err := config.VersionMatches(have, constraints)
		if err != nil {
			if all || !strings.Contains(err.Error(), "is no ") {
				t.Errorf("%q, %q: %t, %v", have, constraints, all, err)
			}
			return
		}
		each := true
		for c := range strings.SplitSeq(constraints, ",") {
			fits, err := config.VersionMatches(have, c)
			if err != nil {
				t.Errorf("%q is accepted among others, and not alone: %v", c, err)
			}
			each = each && fits
			version := strings.TrimLeft(strings.TrimSpace(c), "=!<>~ ")
			op := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(c), version))
			if other, ok := opposite[op]; ok {
				if also, err := config.VersionMatches(have, other+version); err != nil || also == fits {
					t.Errorf("%s is %t of %q, and %s%s %t, %v", c, fits, have, other, version, also, err)
				}
			}
		}
		if all != each {
			t.Errorf("%q is %t of %q, and one by one %t", constraints, all, have, each)
		}
	})
}
