// Package attack tries to harm an operator who runs kubewright: as a host, an API
// server, a backend, a configuration, or a file in the operator's folder. Each attack
// runs the command as a process of its own, bounded in time and memory.
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

// Environment variables. The first asks for the long attacks. The second makes the test
// binary the command, and is how many bytes of memory it may ask for; 0 for any number. The
// third is where the command writes the most bytes that it has had: what the system says of
// a process that has ended includes what its parent had when it was made.
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

// area is a place that attacks come from.
type area struct {
	name    string
	attacks func() []attack
}

// areas are all that is tried, in the order in which it is printed.
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

// lines returns the areas that were attacked, each with its figures.
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
			_ = os.WriteFile(file, fmt.Append(nil, peak()), 0o600) // whoever reads it misses it
		}
		os.Exit(code)
	}
	code := m.Run()
	for _, line := range results.lines() {
		fmt.Println(line)
	}
	os.Exit(code)
}

// system returns what the command works with as a process of its own. What it does to simulated
// hosts is done when it is killed, as on real ones.
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
					t.Fatalf("two attacks have the name %q", attack.name)
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
