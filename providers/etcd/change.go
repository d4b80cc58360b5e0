package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/kubewright/kubewright/providers"
)

// AddLearner implements providers.Etcd.
func (c *Client) AddLearner(ctx context.Context, peerURL string) error {
	hasPeer := func(l list) bool {
		return slices.ContainsFunc(l.members, func(m *pb.Member) bool { return slices.Contains(m.PeerURLs, peerURL) })
	}
	return c.change(ctx, "add etcd member with peer URL "+peerURL, hasPeer,
		func(ctx context.Context, _ list, teller member) error { return teller.addLearner(ctx, peerURL) })
}

// Promote implements providers.Etcd. It fails for a learner that has not caught up yet; a
// later retry helps.
func (c *Client) Promote(ctx context.Context, id string) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	votes := func(l list) bool { m := l.find(n); return m != nil && !m.IsLearner }
	return c.change(ctx, "promote etcd member "+id, votes, func(ctx context.Context, l list, teller member) error {
		if l.find(n) == nil {
			return errors.New("it is no member")
		}
		return teller.promote(ctx, n)
	})
}

// Remove implements providers.Etcd. It goes through a member other than the removed one,
// and refuses to remove the only voter.
func (c *Client) Remove(ctx context.Context, id string) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	gone := func(l list) bool { return l.find(n) == nil }
	return c.change(ctx, "remove etcd member "+id, gone, func(ctx context.Context, l list, _ member) error {
		if !l.find(n).IsLearner && l.voters() == 1 {
			return errors.New("it is the only voter: without it there is no cluster")
		}
		other, err := c.other(ctx, l, n)
		if err != nil {
			return err
		}
		return other.remove(ctx, n)
	})
}

// MoveLeader implements providers.Etcd. If the member leads already, it does nothing.
func (c *Client) MoveLeader(ctx context.Context, to string) error {
	n, err := parseID(to)
	if err != nil {
		return err
	}
	leader := func(ctx context.Context) (uint64, member, error) {
		l, teller, err := c.list(ctx)
		if err != nil {
			return 0, nil, err
		}
		return c.leader(ctx, l, teller)
	}
	do := "move leadership of etcd to " + to
	id, at, err := leader(ctx)
	if err != nil || id == n {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := at.moveLeader(ctx, n); err != nil {
		if id, _, again := leader(context.WithoutCancel(ctx)); again == nil && id == n {
			return nil
		}
		return failure(do, providers.ErrDisconnected, err)
	}
	return nil
}

// change changes the membership unless that is done already, and reads it again when the
// change fails.
func (c *Client) change(ctx context.Context, do string, done func(list) bool, act func(context.Context, list, member) error) error {
	l, teller, err := c.list(ctx)
	if err != nil {
		return err
	}
	if done(l) {
		return nil
	}
	acting, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := act(acting, l, teller); err != nil {
		if l, _, again := c.list(ctx); again == nil && done(l) {
			return nil
		}
		return failure(do, providers.ErrDisconnected, err)
	}
	return nil
}

// other returns a started voter, other than the one with the ID, that answers.
func (c *Client) other(ctx context.Context, l list, id uint64) (member, error) {
	for _, m := range l.members {
		if m.ID == id || m.IsLearner || m.Name == "" || len(m.ClientURLs) == 0 {
			continue
		}
		at, err := c.at(m.ClientURLs[0])
		if err != nil {
			continue
		}
		reading, cancel := context.WithTimeout(ctx, readTimeout)
		_, err = at.read(reading)
		cancel()
		if err == nil {
			return at, nil
		}
	}
	return nil, errors.New("no other voter answers")
}

// leader finds the leader, and returns the leader's own endpoint.
func (c *Client) leader(ctx context.Context, l list, teller member) (uint64, member, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	st, err := teller.status(reading)
	if err != nil {
		return 0, nil, failure("find the leader of etcd", providers.ErrUnreachable, err)
	}
	m := l.find(st.leader)
	if m == nil || len(m.ClientURLs) == 0 {
		return 0, nil, errors.New("cannot find the leader of etcd: there is none at the moment")
	}
	at, err := c.at(m.ClientURLs[0])
	return m.ID, at, err
}

func (l list) find(id uint64) *pb.Member {
	for _, m := range l.members {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (l list) voters() int {
	n := 0
	for _, m := range l.members {
		if !m.IsLearner {
			n++
		}
	}
	return n
}

// failure gives an error its kind: lost is the kind of a broken connection for this
// operation. An answer from etcd has no kind.
func failure(do string, lost, err error) error {
	var answer rpctypes.EtcdError
	code := grpcstatus.Code(err)
	if errors.As(err, &answer) {
		code = answer.Code()
	}
	for _, kind := range []error{providers.ErrNoForwarding, providers.ErrUnreachable, providers.ErrDisconnected, providers.ErrTimeout} {
		if errors.Is(err, kind) {
			return fmt.Errorf("cannot %s: %w", do, err)
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("cannot %s: %w", do, err)
	case errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded:
		return &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: err}
	case code == codes.Unavailable:
		return &providers.Error{Kind: lost, Do: do, Cause: err}
	}
	return fmt.Errorf("cannot %s: %w", do, err)
}

// oneLine joins the errors of several members.
func oneLine(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
