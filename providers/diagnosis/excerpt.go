package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// lazy returns a pattern that is compiled when it is first used, and not before every command.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	// noise are lines that say nothing of a cause: what systemd does with a unit, the frames of a
	// stack, and the flags that a program lists when it refuses one.
	noise = lazy(`^\S+\.service: (Deactivated successfully|Scheduled restart job|Consumed |Main process exited|Failed with result|Start request repeated)` +
		`|^(Started|Stopped|Starting|Stopping|Failed to start) \S+\.service` +
		`|^(\\t|\t)|^goroutine \d+|^created by |^[\w./*()%\[\]-]+\(.*\)( \+0x\w+)?$` +
		`|^\{"level":"info"|^ +(-\w, )?--[\w-]+|^ +-\w, --|^ {16}|^(Usage|Global flags|[A-Z][\w ]+ flags):` +
		// What every kubelet writes when it starts.
		`|"Skipping pod synchronization"|"Failed to set rlimit|checkpoint is not found|no imagefs label for configured runtime|apply oom score|ApplyOOMScoreAdj` +
		`|not registered yet|"Error getting the current node from lister"|container factory failed|"Systemd watchdog|FLAG: --|"http: TLS handshake error`)
	decisive = lazy(`^[EF]\d{4} |(?i:panic:|fatal|error|fail|denied|refused|cannot|unable|no such|not found|unknown|invalid|already in use|expired)`)
)

// isStart reports whether systemd writes a line when it starts a unit.
func isStart(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	unit, _, _ := strings.Cut(rest, " ")
	return (verb == "Started" || verb == "Starting") && strings.Contains(unit, ".service")
}

// withoutDigits returns a line without its digits.
func withoutDigits(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, line)
}

// LastAttempts returns the lines of the last two times that a unit was started: older errors were
// perhaps others.
func LastAttempts(lines []string) []string {
	starts := 0
	for i, line := range slices.Backward(lines) {
		if isStart(line) {
			if starts++; starts == 2 {
				return lines[i:]
			}
		}
	}
	return lines
}

// Excerpt returns the lines of a log that say why a program has ended: at most n, none of them twice
// but for numbers, errors before others, in their order.
func Excerpt(lines []string, n int) []string {
	var kept []string
	seen := map[string]bool{}
	for _, line := range slices.Backward(lines) {
		key := withoutDigits(klogHeader().ReplaceAllString(line, ""))
		if noise().MatchString(line) || seen[key] {
			continue
		}
		seen[key] = true
		line, _, _ = strings.Cut(line, `,"stacktrace":`) // etcd's
		kept = append(kept, line)
	}
	slices.Reverse(kept)
	for over := len(kept) - n; over > 0; over-- {
		i := slices.IndexFunc(kept, func(line string) bool { return !decisive().MatchString(line) })
		kept = slices.Delete(kept, max(i, 0), max(i, 0)+1)
	}
	if len(kept) == 0 { // nothing but noise is better than nothing
		return lines[max(0, len(lines)-n):]
	}
	return kept
}
