package backup

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Schedule says when backups are taken.
type Schedule struct {
	// Calendar is the time as systemd reads it (systemd.time(7)). It is in UTC, so that it is the same
	// moment on every control plane.
	Calendar string
	// Period is the time from one backup to the next.
	Period time.Duration
}

var (
	words = map[string]Schedule{
		"hourly": {"*-*-* *:00:00 UTC", time.Hour},
		"daily":  {"*-*-* 00:00:00 UTC", 24 * time.Hour},
		"weekly": {"Mon *-*-* 00:00:00 UTC", 7 * 24 * time.Hour},
	}
	interval  = regexp.MustCompile(`^([0-9]{1,2})([hm])$`)
	timeOfDay = regexp.MustCompile(`^(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?([01][0-9]|2[0-3]):([0-5][0-9])$`)
)

// ParseSchedule parses a schedule: hourly, daily, weekly, an interval such as 6h, a time such as 02:30
// or Sun 02:30. An interval divides the day or hour evenly: systemd counts from its beginning.
func ParseSchedule(text string) (Schedule, error) {
	if s, ok := words[text]; ok {
		return s, nil
	}
	if m := interval.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		switch {
		case m[2] == "h" && n > 0 && 24%n == 0:
			return Schedule{fmt.Sprintf("*-*-* 00/%d:00:00 UTC", n), time.Duration(n) * time.Hour}, nil
		case m[2] == "m" && n >= 5 && 60%n == 0:
			return Schedule{fmt.Sprintf("*-*-* *:00/%d:00 UTC", n), time.Duration(n) * time.Minute}, nil
		}
		return Schedule{}, fmt.Errorf("%q does not divide a day or an hour into equal parts. Intervals are 5m, 6m, 10m, 12m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h and 24h", text)
	}
	if m := timeOfDay.FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			return Schedule{m[1] + " *-*-* " + m[2] + ":" + m[3] + ":00 UTC", 7 * 24 * time.Hour}, nil
		}
		return Schedule{"*-*-* " + m[2] + ":" + m[3] + ":00 UTC", 24 * time.Hour}, nil
	}
	return Schedule{}, fmt.Errorf("%q is no schedule. Write hourly, daily, weekly, an interval such as 6h, or a time in UTC such as 02:30 or Sun 02:30", text)
}
