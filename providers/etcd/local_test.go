package etcd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers"
)

// TestSnapshotWithoutQuorumTakesNewestMember checks that without a quorum each member that answers reports its own
// data, and that the snapshot has the newest of it.
func TestSnapshotWithoutQuorumTakesNewestMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*cluster)
		// held are the revisions, in order; from is the member whose snapshot is taken, or
		// why none is.
		held, from string
	}{
		"one is left":       {func(c *cluster) { c.down[url("b")], c.down[url("c")] = true, true }, "42 0 0", "a"},
		"the newest of two": {func(c *cluster) { c.down[url("c")], c.behind = true, map[string]int64{url("a"): 2} }, "40 42 0", "b"},
		"none that is corrupt": {func(c *cluster) {
			c.behind, c.alarm = map[string]int64{url("a"): 2, url("c"): 3}, map[uint64][]string{2: {"CORRUPT"}}
		}, "40 42 39", "a"},
		"full is not corrupt": {func(c *cluster) {
			c.behind, c.alarm = map[string]int64{url("a"): 2, url("c"): 3}, map[uint64][]string{2: {"NOSPACE"}}
		}, "40 42 39", "b"},
		"no learner": {func(c *cluster) { c.members[1].IsLearner, c.behind = true, map[string]int64{url("a"): 2, url("c"): 3} }, "40 42 39", "a"},
		"all that are left corrupt": {func(c *cluster) {
			c.down[url("b")], c.down[url("c")], c.alarm = true, true, map[uint64][]string{1: {"CORRUPT"}}
		}, "42 0 0", "no voter answers that is not alarmed as corrupt"},
	} {
		model := three()
		model.split, model.revision = true, 42
		c.change(model)
		client := model.client()
		members, id, err := client.LocalMembers(t.Context())
		if err != nil || id != "abc" {
			t.Errorf("%s: %q, %v", name, id, err)
			continue
		}
		var held []string
		for _, m := range members {
			held = append(held, fmt.Sprint(m.Revision))
			if m.Healthy || m.Leader {
				t.Errorf("%s: got %+v", name, m)
			}
		}
		if strings.Join(held, " ") != c.held {
			t.Errorf("%s: got %v, want %s", name, held, c.held)
		}
		s, err := client.LocalSnapshot(t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), c.from) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if b, _ := io.ReadAll(s); s.Member != c.from || string(b) != "data of "+c.from || s.EtcdID != "abc" || s.Revision != 42-model.behind[url(c.from)] {
			t.Errorf("%s: got %q from %+v, want member %s", name, b, s, c.from)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMemberWithLeaderIsNotAskedAlone checks that a member is not asked alone while it knows of a leader, and
// that another one is asked if it does not answer.
func TestMemberWithLeaderIsNotAskedAlone(t *testing.T) {
	t.Parallel()
	model := three()
	client := model.client()
	if _, _, err := client.LocalMembers(t.Context()); !errors.Is(err, providers.ErrHasLeader) || err.Error() != "a member of etcd is not asked alone: etcd has a leader" {
		t.Errorf("with a leader: %v", err)
	}
	if _, err := client.LocalSnapshot(t.Context()); !errors.Is(err, providers.ErrHasLeader) {
		t.Errorf("with a leader: %v", err)
	}
	model.down[url("a")] = true
	if _, _, err := client.LocalMembers(t.Context()); !errors.Is(err, providers.ErrUnreachable) {
		t.Errorf("down: %v", err)
	}
}
