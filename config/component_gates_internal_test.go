package config

import (
	"testing"

	"github.com/kubewright/kubewright/config/componentflag"
)

// TestFeatureGatesPerVersion checks that every supported version has gates, and that a few that were
// added, locked or removed are in the versions that have them.
func TestFeatureGatesPerVersion(t *testing.T) {
	t.Parallel()
	for minor := MinMinor; minor <= MaxMinor; minor++ {
		if n := len(componentflag.Gates[minor]); n < 200 {
			t.Errorf("1.%d has %d gates", minor, n)
		}
	}
	if len(componentflag.Gates) != MaxMinor-MinMinor+1 {
		t.Errorf("there are gates of %d versions", len(componentflag.Gates))
	}
	for _, c := range []struct {
		minor  int
		name   string
		known  bool
		locked string
	}{
		{34, "AllAlpha", true, ""},
		{34, "APIServerTracing", true, "true"},
		{37, "APIServerTracing", false, ""},
		{34, "CustomCPUCFSQuotaPeriod", true, ""},
		{34, "AtomicFIFO", false, ""},
		{37, "AtomicFIFO", true, ""},
		{36, "NodeSwap", true, "true"},
		{36, "#", false, ""},
	} {
		if g, ok := componentflag.Gates[c.minor][c.name]; ok != c.known || g.Locked != c.locked {
			t.Errorf("1.%d %s: known %v, locked %q", c.minor, c.name, ok, g.Locked)
		}
	}
}
