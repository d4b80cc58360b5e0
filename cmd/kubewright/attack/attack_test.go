// Package attack tries to harm an operator who runs kubewright: as a host, an API server, a
// backend, a configuration, or a file in the operator's folder. Each attack runs the command as
// a separate process, bounded in time and memory.
//
// make attack runs all of them and prints, by area, how many were tried and how many
// held. Without KUBEWRIGHT_ATTACK the long ones are left out.
package attack

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/cli"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/providers/sim"
)

// These are environment variables. The first enables the long attacks. The second turns the test
// binary into the command and is the number of bytes of memory that it may allocate; 0 means no
// limit. The third names the file for the command's peak memory: the usage that the system
// reports of an ended process includes that of its parent at the fork.
const (
	longVariable    = "KUBEWRIGHT_ATTACK"
	commandVariable = "KUBEWRIGHT_ATTACK_COMMAND"
	peakVariable    = "KUBEWRIGHT_ATTACK_PEAK"
)

// attack is one attempt to do harm.
type attack struct {
	name string
	// long attacks take many seconds, or much memory.
	long bool
	// run fails the arena's test unless kubewright holds.
	run func(*arena)
}

// area is an origin of attacks.
type area struct {
	name    string
	attacks func() []attack
}

// areas are all attacks, in the order of the report.
var areas = []area{
	{"hostile host", hostAttacks},
	{"worker that lies of itself", lyingAttacks},
	{"sudo passwords", sudoAttacks},
	{"impostors", hostKeyAttacks},
	{"imported clusters", importAttacks},
	{"hostile control plane", apiAttacks},
	{"commands in configurations", execAttacks},
	{"links, FIFOs and devices", linkAttacks},
	{"expressions without end", bombAttacks},
	{"damaged files", damageAttacks},
	{"forged plans", savedAttacks},
	{"text in configurations", injectionAttacks},
	{"plans in all forms", formAttacks},
	{"backends over HTTP", backendAttacks},
	{"PostgreSQL", databaseAttacks},
	{"operator's machine", operatorAttacks},
	{"killed", killedAttacks},
}

// score counts the attacks of one area.
type score struct{ tried, held, left int }

// tally counts the attacks of all areas.
type tally struct {
	mu     sync.Mutex
	scores map[string]*score
}

var results = &tally{scores: map[string]*score{}}

func (y *tally) count(area string, change func(*score)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.scores[area] == nil {
		y.scores[area] = &score{}
	}
	change(y.scores[area])
}

// lines returns the report: one line for each area that was attacked.
func (y *tally) lines() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var out []string
	for _, a := range areas {
		s := y.scores[a.name]
		if s == nil {
			continue
		}
		line := fmt.Sprintf("attack: %s: %d tried, %d held", a.name, s.tried, s.held)
		if s.left > 0 {
			line += fmt.Sprintf(", %d more with make attack", s.left)
		}
		out = append(out, line)
	}
	return out
}

func TestMain(m *testing.M) {
	if room := os.Getenv(commandVariable); room != "" {
		confine(room)
		code := cli.Main(system())
		if file := os.Getenv(peakVariable); file != "" {
			_ = os.WriteFile(file, fmt.Append(nil, peak()), 0o600) // the reader reports a missing file
		}
		os.Exit(code)
	}
	code := m.Run()
	for _, line := range results.lines() {
		fmt.Println(line)
	}
	os.Exit(code)
}

// system returns the environment of the command in its own process. Changes of simulated hosts
// persist when it is killed, as on real ones.
func system() *console.Env {
	env := console.System(os.Args[1:])
	env.OpenWorld = func(path string) (*sim.World, error) {
		w, err := sim.Open(path)
		if err == nil {
			w.Durable = true
			if from := os.Getenv(liarVariable); from != "" {
				overheard(w, from)
			}
		}
		return w, err
	}
	return env
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, attack := range area.attacks() {
				if slices.Contains(names, attack.name) {
					t.Fatalf("two attacks are named %q", attack.name)
				}
				names = append(names, attack.name)
				if attack.long && os.Getenv(longVariable) == "" {
					results.count(area.name, func(s *score) { s.left++ })
					continue
				}
				t.Run(attack.name, func(t *testing.T) {
					t.Parallel()
					t.Cleanup(func() {
						results.count(area.name, func(s *score) {
							s.tried++
							if !t.Failed() {
								s.held++
							}
						})
					})
					attack.run(newArena(t))
				})
			}
		})
	}
}
