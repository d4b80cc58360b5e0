package hosttest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// testVoidToken checks that a token that is known not to count is replaced by a lower one,
// and no other is.
func testVoidToken(t *testing.T, s *subject) {
	for i, tt := range []struct {
		run         string
		token, void int64
		ok          bool
	}{
		{"eve", math.MaxInt64, 0, true},
		{"ada", 5, 0, false},
		{"ada", 5, math.MaxInt64 - 1, false},
		{"ada", 5, math.MaxInt64, true},
		{"ada", 5, math.MaxInt64, true},
		{"grace", 5, math.MaxInt64, false},
		{"grace", 4, math.MaxInt64, false},
		{"eve", 2000, 0, true},
		{"ada", 6, 1999, false},
		{"ada", 6, 2001, false},
		{"ada", 6, 2000, true},
	} {
		b := s.batch(s.write(folder+"/file", fmt.Sprint(tt.run, tt.token)))
		b.Run, b.Token, b.Void = tt.run, tt.token, tt.void
		outcomes, err := s.Host.Perform(t.Context(), b)
		if (err == nil) != tt.ok || !tt.ok && (!errors.Is(err, providers.ErrSuperseded) || len(outcomes) != 0) {
			t.Errorf("%d: run %q with token %d, void %d: %v, %v", i, tt.run, tt.token, tt.void, outcomes, err)
		}
	}
	if got := s.observe(t, state.Query{}).Marks; got == nil || got.Token != 6 {
		t.Errorf("got %+v, want token 6", got)
	}
}

func testSuperseded(t *testing.T, s *subject) {
	again := s.Again(t)
	defer func() { _ = again.Close() }()
	s.token = 5
	s.do(t, s.write(folder+"/file", "five"))
	later := s.batch(s.write(folder+"/file", "six"))
	later.Token = 6
	if _, err := again.Perform(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	outcomes, err := s.Host.Perform(t.Context(), s.batch(s.write(folder+"/file", "five again")))
	if !errors.Is(err, providers.ErrSuperseded) || len(outcomes) != 0 {
		t.Errorf("got %v, %v, want ErrSuperseded", outcomes, err)
	}
	wantFile(t, s.look(t, folder+"/file"), "six", "0600", s.Owner)
}

// testSideBySide checks that of two runs with one token the host accepts the first.
func testSideBySide(t *testing.T, s *subject) {
	for _, tt := range []struct {
		run   string
		token int64
		ok    bool
	}{{"ada", 5, true}, {"ada", 5, true}, {"grace", 5, false}, {"", 5, true}, {"grace", 6, true}, {"ada", 6, false}, {"grace", 6, true}} {
		b := s.batch(s.write(folder+"/file", fmt.Sprint(tt.run, tt.token)))
		b.Run, b.Token = tt.run, tt.token
		outcomes, err := s.Host.Perform(t.Context(), b)
		if (err == nil) != tt.ok || !tt.ok && (!errors.Is(err, providers.ErrSuperseded) || len(outcomes) != 0) {
			t.Errorf("run %q with token %d: %v, %v", tt.run, tt.token, outcomes, err)
		}
	}
}
