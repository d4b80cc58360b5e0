package backup

import (
	"testing"
	"time"
)

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Schedule{
		"hourly":    {"*-*-* *:00:00 UTC", time.Hour},
		"daily":     {"*-*-* 00:00:00 UTC", 24 * time.Hour},
		"weekly":    {"Mon *-*-* 00:00:00 UTC", 7 * 24 * time.Hour},
		"6h":        {"*-*-* 00/6:00:00 UTC", 6 * time.Hour},
		"24h":       {"*-*-* 00/24:00:00 UTC", 24 * time.Hour},
		"15m":       {"*-*-* *:00/15:00 UTC", 15 * time.Minute},
		"02:30":     {"*-*-* 02:30:00 UTC", 24 * time.Hour},
		"Sun 23:05": {"Sun *-*-* 23:05:00 UTC", 7 * 24 * time.Hour},
	} {
		if got, err := ParseSchedule(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5h", "0h", "1m", "7m", "48h", "24:00", "2:30", "sun 02:30", "*-*-* 02:30:00", "daily\n"} {
		if got, err := ParseSchedule(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
