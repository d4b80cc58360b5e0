package etcd

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestForeignMemberIsNotHealthy checks that a member is healthy only if it answers itself, and not if
// a member of another etcd, or another member of its own, answers at its endpoint.
func TestForeignMemberIsNotHealthy(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*cluster){
		"of another etcd":      func(c *cluster) { c.foreign = map[string]bool{url("b"): true} },
		"a learner elsewhere":  func(c *cluster) { c.members[1].IsLearner, c.foreign = true, map[string]bool{url("b"): true} },
		"another member":       func(c *cluster) { c.takes = map[string]uint64{url("b"): 3} },
		"another one, to read": func(c *cluster) { c.reads = map[string]uint64{url("b"): 3} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := three()
				change(c)
				members, _, err := c.client().Members(t.Context())
				if err != nil || len(members) != 3 {
					t.Fatal(members, err)
				}
				if !members[0].Healthy || members[1].Healthy || !members[2].Healthy {
					t.Errorf("got %+v", members)
				}
			})
		})
	}
}

// TestSnapshotOfForeignMemberIsRefused checks that a cluster is not restored from data of a member of
// another etcd, or of a member at another one's endpoint, however new it is.
func TestSnapshotOfForeignMemberIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*cluster){
		"of another etcd": func(c *cluster) { c.foreign = map[string]bool{url("b"): true} },
		"another member":  func(c *cluster) { c.takes = map[string]uint64{url("b"): 3} },
	} {
		c := three()
		c.split, c.revision, c.behind = true, 42, map[string]int64{url("a"): 2, url("c"): 3}
		change(c)
		s, err := c.client().LocalSnapshot(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Member != "a" {
			t.Errorf("%s: the snapshot is of %s", name, s.Member)
		}
		_ = s.Close()
	}
}

// TestOnlyVoterIsNotRemoved checks that the only voter cannot be removed, even if there
// are learners.
func TestOnlyVoterIsNotRemoved(t *testing.T) {
	t.Parallel()
	c := three()
	c.members[1].IsLearner, c.members[2].IsLearner = true, true
	if err := c.client().Remove(t.Context(), "1"); err == nil || !strings.Contains(err.Error(), "it is the only voter: without it there is no cluster") || len(c.calls) > 0 {
		t.Errorf("%v after %v", err, c.calls)
	}
	if err := c.client().Remove(t.Context(), "2"); err != nil || !slices.Equal(c.calls, []string{"a remove"}) {
		t.Errorf("a learner: %v after %v", err, c.calls)
	}
}
