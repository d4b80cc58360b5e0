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
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/state"
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
	wanted := func(t state.Target) bool { return len(chosen) == 0 || slices.Contains(chosen, t) }
	// Only a control plane leads to the API, which knows what is wrong with a node.
	s.Hosts.Keep(func(m *hosts.Member) bool { return m.Plane || wanted(m.Target) })
	v := resolve.NewFleet(s.Observe(ctx))
	if err := ctx.Err(); err != nil {
		return err
	}
	found := examine(ctx, s, v, wanted)
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
	clusters := 0
	for _, e := range found {
		if e.Cluster {
			clusters++
		}
	}
	if clusters == len(ill) {
		return console.Failure(diag.Diagnostics{diag.Errorf("Cluster needs attention", "Something is wrong with %s.", console.ListOf(targetsOf(ill)))})
	}
	ill = slices.DeleteFunc(ill, func(e listing.Examined) bool { return e.Cluster })
	return console.Failure(diag.Diagnostics{diag.Errorf("Hosts need attention", "Something is wrong on %d of %d hosts: %s.", len(ill), len(found)-clusters, console.ListOf(targetsOf(ill)))})
}

func targetsOf(found []listing.Examined) []string {
	var out []string
	for _, e := range found {
		out = append(out, e.Target)
	}
	return out
}

// examine asks the wanted hosts that answer what does not run there, and adds what is wrong with their
// clusters.
func examine(ctx context.Context, s *session.Session, v *topology.Fleet, wanted func(state.Target) bool) []listing.Examined {
	members := slices.DeleteFunc(slices.Clone(s.Hosts.Members), func(m *hosts.Member) bool { return !wanted(m.Target) })
	e := examination{session: s, fleet: v, certificates: record.Certificates(v)}
	found := make([]listing.Examined, len(members))
	var asking sync.WaitGroup
	for i, m := range members {
		asking.Go(func() { found[i] = e.host(ctx, m) })
	}
	asking.Wait()
	return append(e.clusters(members), found...)
}

// An examination is what is known before hosts are asked what does not run on them.
type examination struct {
	session      *session.Session
	fleet        *topology.Fleet
	certificates []pki.HeldCertificate
}

func (x examination) host(ctx context.Context, m *hosts.Member) listing.Examined {
	s, v := x.session, x.fleet
	e := listing.Examined{Target: m.Target.String()}
	if u, silent := v.Unobserved[m.Target]; silent {
		e.Silent, e.Remedy = u.Reason, u.Remedy
		if u.Answered { // something there may be why it cannot be observed
			e.Causes = masked(s, ofSilent(ctx, s, m))
		}
		return e
	}
	n := v.Find(m.Target)
	if n != nil {
		e.Node = nodeConditions(n)
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
	causes := append(x.ofHost(m), lasting(report.Causes(), n != nil && n.NodeCondition() == state.NodeReady)...)
	if n != nil && n.IsControlPlane() {
		causes = append(append(x.notServing(ctx, host, n, report), causes...), lacking(n.StaticPods(), report)...)
	}
	if n != nil && len(report.Causes()) == 0 {
		causes = append(causes, x.cut(ctx, host, n)...)
	}
	e.Causes = masked(s, causes)
	return e
}

// ofSilent returns what does not run on a host that answers and cannot be observed.
func ofSilent(ctx context.Context, s *session.Session, m *hosts.Member) []diagnosis.Cause {
	host, err := s.Hosts.Host(ctx, m.Target)
	if err != nil {
		return nil // as the observation says
	}
	report, err := host.Diagnose(ctx)
	if err != nil {
		return nil
	}
	return report.Causes()
}

// lasting returns the causes without those that a node which is Ready has no more, as right after it has
// joined.
func lasting(causes []diagnosis.Cause, ready bool) []diagnosis.Cause {
	return slices.DeleteFunc(causes, func(c diagnosis.Cause) bool { return ready && c.NotReady })
}

// masked returns causes without the secrets of the configuration.
func masked(s *session.Session, causes []diagnosis.Cause) []diagnosis.Cause {
	out := slices.Clone(causes)
	for i, c := range causes {
		out[i].Log = make([]string, len(c.Log))
		for j, line := range c.Log {
			out[i].Log[j] = s.Config.Secrets.Text(line)
		}
	}
	return out
}
