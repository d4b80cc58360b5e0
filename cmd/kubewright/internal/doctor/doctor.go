// Package doctor asks hosts what does not run there, and why. It changes nothing.
package doctor

import (
	"context"
	"slices"
	"sync"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/diagnosis"
)

// Examine prints what does not run on the hosts of all nodes, or of those with these addresses or
// names, and writes a support bundle into the file if it is not empty. It returns an error if
// something is wrong on one of them.
func Examine(ctx context.Context, a *workspace.Workspace, o session.Options, names []string, file string) error {
	if err := a.CheckOverwrite("bundle", file); err != nil {
		return err
	}
	s, err := session.OpenToPrint(ctx, a, o)
	if err != nil {
		return err
	}
	defer s.Close()
	chosen, _, unknown := s.NodesNamed(names)
	if unknown.HasErrors() {
		return console.Failure(unknown)
	}
	s.Hosts.Keep(func(m *hosts.Member) bool { return len(chosen) == 0 || slices.Contains(chosen, m.Target) })
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	found := examine(ctx, s, v)
	if err := s.Hosts.World.Save(); err != nil {
		return err
	}
	show := listing.Doctor
	if o.JSON {
		show = listing.DoctorJSON
	}
	if err := show(a.Stdout, found, a.Options()); err != nil {
		return err
	}
	if file != "" {
		if err := writeBundle(s, v, found, file); err != nil {
			return err
		}
		if !o.JSON {
			if err := listing.BundleWritten(a.Stdout, file, a.Options()); err != nil {
				return err
			}
		}
	}
	ill := slices.DeleteFunc(slices.Clone(found), listing.Examined.Well)
	if len(ill) == 0 {
		return nil
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Hosts need attention", "Something is wrong on %d of %d hosts: %s.", len(ill), len(found), console.ListOf(targetsOf(ill)))})
}

func targetsOf(found []listing.Examined) []string {
	var out []string
	for _, e := range found {
		out = append(out, e.Target)
	}
	return out
}

// examine asks all hosts that answer what does not run there.
func examine(ctx context.Context, s *session.Session, v *topology.Fleet) []listing.Examined {
	found := make([]listing.Examined, len(s.Hosts.Members))
	var asking sync.WaitGroup
	for i, m := range s.Hosts.Members {
		asking.Go(func() { found[i] = examineHost(ctx, s, v, m) })
	}
	asking.Wait()
	return found
}

func examineHost(ctx context.Context, s *session.Session, v *topology.Fleet, m *hosts.Member) listing.Examined {
	e := listing.Examined{Target: m.Target.String()}
	if u, silent := v.Unobserved[m.Target]; silent {
		e.Silent, e.Remedy = u.Reason, u.Remedy
		return e
	}
	if n := v.Find(m.Target); n != nil {
		e.Node = nodeConditions(v, n)
	}
	host, err := s.Hosts.Host(ctx, m.Target)
	if err != nil {
		e.Silent = err.Error()
		return e
	}
	report, err := host.Diagnose(ctx)
	if err != nil {
		e.Silent = err.Error()
		return e
	}
	for _, c := range report.Causes() {
		e.Causes = append(e.Causes, masked(s, c))
	}
	return e
}

// masked returns a cause without the secrets of the configuration.
func masked(s *session.Session, c diagnosis.Cause) diagnosis.Cause {
	log := make([]string, len(c.Log))
	for i, line := range c.Log {
		log[i] = s.Config.Secrets.Text(line)
	}
	c.Log = log
	return c
}

// nodeConditions returns what the API says against a node.
func nodeConditions(v *topology.Fleet, n *topology.Node) []string {
	report := v.ClusterReports[n.Cluster.Label]
	if report == nil {
		return nil
	}
	node, ok := report.Nodes[n.Name]
	switch {
	case !ok:
		return nil
	case node.Silent:
		return []string{"the kubelet has not reported to the API for a while"}
	case !node.Ready:
		return []string{"the node is not ready"}
	case node.Unschedulable && (n.Schedulable == nil || *n.Schedulable):
		return []string{"the node is cordoned: no pod is scheduled to it"}
	}
	return nil
}
