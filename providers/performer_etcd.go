package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// memberTime is how long kubeadm keeps retrying a change of etcd's membership.
const memberTime = 2 * time.Minute

// etcdWork is the part of a step that goes to etcd: its membership and its snapshots.
type etcdWork struct{ *work }

// initialCluster is the output of AddEtcdMember.
const initialCluster = "initial_cluster"

// always allows a retry for nearly every error: etcd refuses a change of membership while
// it is unhealthy or has a learner, and reports that in many ways. Each attempt reads the
// membership first.
func always(err error) bool { return !hopeless(err) }

// addMember adds a learner, while etcd keeps quorum even with one more member that is down:
// each attempt checks that, since it may come minutes after the step's gate. Its output is
// the new member's initial cluster, as kubeadm builds it: NAME=PEERURL of every member,
// with the ID in place of the name of a member that has not started.
func (w etcdWork) addMember(ctx context.Context, op planner.AddEtcdMember) error {
	return w.retry(ctx, memberTime, always, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		if err := quorum.Allows(w.step, op.PeerURL, members); err != nil {
			return fmt.Errorf("cannot add etcd member %s: %w", op.Name, err)
		}
		if err := e.AddLearner(ctx, op.PeerURL); err != nil {
			return err
		}
		if members, _, err = e.Members(ctx); err != nil {
			return err
		}
		if memberAt(members, op.PeerURL) == nil {
			return fmt.Errorf("cannot add etcd member %s: etcd does not list it", op.Name)
		}
		w.outputs[initialCluster] = Output{Value: state.String(initialClusterOf(members, op))}
		return nil
	})
}

func initialClusterOf(members []state.EtcdMember, op planner.AddEtcdMember) string {
	var out []string
	for _, m := range members {
		if len(m.PeerURLs) == 0 {
			continue
		}
		name := m.Name
		switch {
		case slices.Contains(m.PeerURLs, op.PeerURL):
			name = op.Name
		case name == "":
			name = m.ID
		}
		out = append(out, name+"="+m.PeerURLs[0])
	}
	return strings.Join(out, ",")
}

func (w etcdWork) renderManifest(ctx context.Context, op planner.RenderEtcdManifest) error {
	value, ok := w.outputs[initialCluster]
	if !ok {
		return errors.New("internal error: a manifest of etcd before its member was added")
	}
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	write := planner.WriteFile{Path: op.Path, Mode: op.Mode, Owner: op.Owner, Content: op.Manifest}
	b := w.batch([]planner.Operation{write})
	complete := func(manifest string) string {
		return strings.ReplaceAll(manifest, planner.InitialClusterPlaceholder, value.Value.AsString())
	}
	if op.Manifest.Ref == "" {
		write.Content.Inline = complete(op.Manifest.Inline)
		sum := sha256.Sum256([]byte(write.Content.Inline))
		write.SHA256 = hex.EncodeToString(sum[:])
		b.Operations[0] = write
	} else {
		content, err := w.resolve(ctx, op.Manifest.Sealed())
		if err != nil {
			return err
		}
		b.Contents = map[string]state.Secret{op.Manifest.Ref: state.NewSecret([]byte(complete(string(content.Reveal()))))}
	}
	_, err = host.Perform(ctx, b)
	return err
}

// promoteMember makes a learner a voter, which raises the quorum: like addMember only while
// etcd has quorum without it.
func (w etcdWork) promoteMember(ctx context.Context, op planner.PromoteEtcdMember) error {
	return w.retry(ctx, timeoutOf(op.Timeout, memberTime), always, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		m := memberAt(members, op.PeerURL)
		switch {
		case m == nil:
			return fmt.Errorf("cannot promote etcd member %s: etcd does not list it", op.PeerURL)
		case !m.Learner:
			return nil
		case m.Name == "":
			return fmt.Errorf("cannot promote etcd member %s: it has not started", op.PeerURL)
		}
		if err := quorum.Allows(w.step, op.PeerURL, members); err != nil {
			return fmt.Errorf("cannot promote etcd member %s: %w", m.Name, err)
		}
		return e.Promote(ctx, m.ID)
	})
}

// removeMember removes a member, never the last voter, and only while the others have
// quorum: since the step's gate was checked the node's API server may have taken minutes to
// stop, and each retry comes later still. It moves leadership away first; if that fails,
// etcd elects a new leader.
func (w etcdWork) removeMember(ctx context.Context, op planner.RemoveEtcdMember) error {
	refused := errors.New("it is the last voter, and without it there is no cluster")
	again := func(err error) bool { return always(err) && !errors.Is(err, refused) }
	return w.retry(ctx, timeoutOf(op.Timeout, memberTime), again, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		m := memberAt(members, op.PeerURL)
		if m == nil {
			return nil
		}
		if !m.Learner && len(votersWithout(members, m.ID)) == 0 {
			return fmt.Errorf("cannot remove etcd member %s: %w", op.Name, refused)
		}
		if err := quorum.Allows(w.step, op.PeerURL, members); err != nil {
			return fmt.Errorf("cannot remove etcd member %s: %w", op.Name, err)
		}
		w.moveLeadership(ctx, e, members, *m)
		return e.Remove(ctx, m.ID)
	})
}

// retry is work.retry for a request to etcd through the step's node, or through another
// control plane.
func (w etcdWork) retry(ctx context.Context, limit time.Duration, again func(error) bool, do func(context.Context, Etcd) error) error {
	return w.work.retry(ctx, limit, again, func(ctx context.Context) error { return w.ThroughEtcd(ctx, w.via(), do) })
}

func memberAt(members []state.EtcdMember, peerURL string) *state.EtcdMember {
	for i := range members {
		if slices.Contains(members[i].PeerURLs, peerURL) {
			return &members[i]
		}
	}
	return nil
}

func votersWithout(members []state.EtcdMember, id string) []state.EtcdMember {
	var out []state.EtcdMember
	for _, m := range members {
		if m.ID != id && !m.Learner {
			out = append(out, m)
		}
	}
	return out
}

func timeoutOf(wanted, otherwise time.Duration) time.Duration {
	if wanted > 0 {
		return wanted
	}
	return otherwise
}
