package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Policy is a policy block: what a plan may not do, whatever the configuration asks for. It is
// outside of the cluster blocks, so that it is not removed together with what it guards.
type Policy struct {
	Name string
	// Cluster is the label of the cluster that the policy is for; empty for all of them.
	Cluster string
	// Unclear reports whether a part of it is invalid, and was reported.
	Unclear bool `json:"-"`
	// MaxDestroys is how many clusters, nodes and addons one plan may destroy or replace, or
	// NoLimit.
	MaxDestroys int
	// Protected are patterns of addresses that no plan may destroy or replace.
	Protected []string
	Freezes   []Freeze
	Approval  *Approval
	Source    state.Source
}

// NoLimit stands for any number.
const NoLimit = math.MaxInt

// Approval says who has to approve a plan.
type Approval struct {
	// Approvers is how many different people have to approve.
	Approvers int
	// File has the approvals, one per line: DIGEST NAME. It is empty if a digest on the command
	// line, or a saved plan, is the approval.
	File string
	// Names are the approvers whose approval counts; if there are none, every approval does.
	Names  []string
	Source state.Source
}

// Freeze is a time in which nothing is changed.
type Freeze struct {
	Name string
	// From and To are both a moment (2026-12-20 18:00, or only the day), both a time of the
	// week (fri 16:00) or both a time of day (22:00); or both are empty, which stands for whole
	// days. From is inclusive, To is exclusive.
	From, To string
	// Weekdays are the days on which a time of day begins, as mon, tue …; all if there are
	// none.
	Weekdays []string
	// Zone is the name of a time zone of the IANA database.
	Zone   string
	Reason string
	Source state.Source
}

// Matches reports whether a pattern refers to an address. In a pattern * stands for any
// characters, and every other character for itself; the name of a node block alone refers to
// each of its nodes, as everywhere.
func Matches(pattern string, t state.Target) bool {
	if wild(pattern, t.String()) {
		return true
	}
	return t.Keyed && t.Type == state.TypeNode && wild(pattern, state.NodeTarget(t.Name).String())
}

// wild compares a text with a pattern in which * stands for any characters.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// Weekdays are the names of days as a freeze has them.
var Weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// weekday returns the day that a word names; full names are accepted as well.
func weekday(word string) (time.Weekday, bool) {
	i := slices.IndexFunc(Weekdays, func(d string) bool {
		word := strings.ToLower(word)
		return word == d || word == strings.ToLower(time.Weekday(slices.Index(Weekdays, d)).String())
	})
	return time.Weekday(i), i >= 0
}

// bound is an end of a freeze.
type bound struct {
	kind boundKind
	// at is a moment; otherwise there is a time of day, in minutes, and for a time of the week
	// also a day.
	at      time.Time
	day     time.Weekday
	minutes int
}

type boundKind string

const (
	aMoment     boundKind = "a moment"
	timeOfWeek  boundKind = "a time of the week"
	timeOfDay   boundKind = "a time of day"
	wholeDays   boundKind = "whole days"
	dateLayout            = "2006-01-02"
	clockLayout           = "15:04"
)

// parseBound parses an end of a freeze.
func parseBound(s string, zone *time.Location) (bound, error) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{dateLayout, dateLayout + " " + clockLayout, dateLayout + "T" + clockLayout} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil {
			return bound{kind: aMoment, at: at}, nil
		}
	}
	out, clock := bound{kind: timeOfDay}, s
	if word, rest, ok := strings.Cut(s, " "); ok {
		day, known := weekday(word)
		if !known {
			return bound{}, fmt.Errorf("%s is no time; write a moment as in \"2026-12-20 18:00\", a time of the week as in \"fri 16:00\", or a time of day as in \"22:00\"", Quote(s))
		}
		out, clock = bound{kind: timeOfWeek, day: day}, strings.TrimSpace(rest)
	}
	hour, minute, ok := strings.Cut(clock, ":")
	h, err := strconv.Atoi(hour)
	m, also := strconv.Atoi(minute)
	if !ok || err != nil || also != nil || len(minute) != 2 || h < 0 || m < 0 || m > 59 || h*60+m > 24*60 {
		return bound{}, fmt.Errorf("%s is no time; write a moment as in \"2026-12-20 18:00\", a time of the week as in \"fri 16:00\", or a time of day as in \"22:00\"", Quote(s))
	}
	out.minutes = h*60 + m
	return out, nil
}

// window is a parsed freeze.
type window struct {
	zone     *time.Location
	from, to bound
	days     []time.Weekday
}

func (f Freeze) window() (window, error) {
	w := window{from: bound{kind: wholeDays}, to: bound{kind: wholeDays}}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil || f.Zone == "" || f.Zone == "Local" {
		return w, fmt.Errorf("%s is no time zone; write the name of one, as in \"Europe/Berlin\" or \"UTC\"", Quote(f.Zone))
	}
	w.zone = zone
	for _, d := range f.Weekdays {
		day, ok := weekday(d)
		if !ok {
			return w, fmt.Errorf("%s is no day of the week; the days are %s", Quote(d), strings.Join(Weekdays, ", "))
		}
		w.days = append(w.days, day)
	}
	switch {
	case f.From == "" && f.To == "" && len(w.days) == 0:
		return w, fmt.Errorf("it says no time: give from and to, weekdays, or all three")
	case f.From == "" && f.To == "":
		return w, nil
	case f.From == "" || f.To == "":
		return w, fmt.Errorf("from and to go together: give both, or only weekdays for whole days")
	}
	if w.from, err = parseBound(f.From, zone); err == nil {
		w.to, err = parseBound(f.To, zone)
	}
	switch {
	case err != nil:
		return w, err
	case w.from.kind != w.to.kind:
		return w, fmt.Errorf("from is %s and to is %s: both are of one kind", w.from.kind, w.to.kind)
	case w.from.kind != timeOfDay && len(w.days) > 0:
		return w, fmt.Errorf("weekdays go with times of day, and from is %s", w.from.kind)
	case w.from.kind == aMoment && !w.from.at.Before(w.to.at):
		return w, fmt.Errorf("its end is not after its beginning")
	case w.from.kind == timeOfWeek && w.from == w.to:
		return w, fmt.Errorf("it ends when it begins; a whole week is weekdays with all seven days, without from and to")
	}
	return w, nil
}

// Active reports whether a freeze holds at a moment, and until when. Times are by the wall
// clock of the freeze's zone, including hours that daylight saving time skips or repeats.
func (f Freeze) Active(at time.Time) (until time.Time, active bool) {
	w, err := f.window()
	if err != nil {
		return time.Time{}, false // refused with the configuration
	}
	if w.from.kind == aMoment {
		return w.to.at, !at.Before(w.from.at) && at.Before(w.to.at)
	}
	today := at.In(w.zone)
	for back := 0; back <= 7; back++ {
		begin, end, ok := w.on(today.AddDate(0, 0, -back))
		if ok && !at.Before(begin) && at.Before(end) && end.After(until) {
			until, active = end, true
		}
	}
	return until, active
}

// on returns the window that begins on a day, if there is one.
func (w window) on(day time.Time) (begin, end time.Time, ok bool) {
	moment := func(days, minutes int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day()+days, 0, minutes, 0, 0, w.zone)
	}
	if w.from.kind == timeOfWeek {
		days := (int(w.to.day) - int(w.from.day) + 7) % 7
		if days == 0 && w.to.minutes <= w.from.minutes {
			days = 7
		}
		return moment(0, w.from.minutes), moment(days, w.to.minutes), day.Weekday() == w.from.day
	}
	if len(w.days) > 0 && !slices.Contains(w.days, day.Weekday()) {
		return begin, end, false
	}
	switch {
	case w.from.kind == wholeDays:
		return moment(0, 0), moment(1, 0), true
	case w.to.minutes <= w.from.minutes:
		return moment(0, w.from.minutes), moment(1, w.to.minutes), true
	}
	return moment(0, w.from.minutes), moment(0, w.to.minutes), true
}
