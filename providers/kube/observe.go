package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// Annotations of mirror pods.
const (
	mirrorAnnotation = "kubernetes.io/config.mirror"
	hashAnnotation   = "kubernetes.io/config.hash"
	seenAnnotation   = "kubernetes.io/config.seen"
)

// concurrentReads bounds the concurrent requests, well below what an API server accepts on
// one connection.
const concurrentReads = 48

// Observe implements providers.API. It requests the version first, alone, so that the
// connection exists before the concurrent requests. A large cluster's answers may take as
// long as they need at budget.LeastRate.
func (a *API) Observe(ctx context.Context, q state.ClusterQuery) (*state.ClusterReport, error) {
	var report *state.ClusterReport
	err := a.attentive(ctx, "observe the API", func(ctx context.Context, s *session) error {
		var err error
		report, err = a.observe(ctx, s, q)
		return err
	})
	return report, err
}

func (a *API) observe(ctx context.Context, s *session, q state.ClusterQuery) (*state.ClusterReport, error) {
	version, err := serverVersion(ctx, s)
	if err != nil {
		return nil, err
	}
	report := &state.ClusterReport{
		Version: version, Objects: map[state.ObjectRef]state.Value{},
		Nodes: map[string]state.NodeReport{}, StaticPods: map[string]state.StaticPodReport{},
	}
	var pods *podsSeen
	var drained []string
	known := make(chan struct{}) // closed once the nodes are known
	var mu sync.Mutex
	written := map[state.ObjectRef]time.Time{}
	whole := ctx
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(concurrentReads)
	eg.Go(func() (err error) {
		if report.Nodes, err = allNodes(ctx, s); err == nil {
			drained = q.Drained(report.Nodes)
			close(known)
		}
		return err
	})
	eg.Go(func() (err error) {
		pods, err = allPods(ctx, s, func() ([]string, error) {
			select {
			case <-known:
				return drained, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}, q.Losses)
		return err
	})
	eg.Go(func() error {
		report.JoinTokens, _ = joinTokens(ctx, s) // if they cannot be read, they expire by themselves
		return nil
	})
	if q.TokenSecrets {
		report.TokensSeen = true
		eg.Go(func() (err error) { report.TokenSecrets, err = tokenSecrets(ctx, s); return err })
	}
	for _, ref := range q.Objects {
		eg.Go(func() error {
			v, at, err := a.readWritten(ctx, s, ref)
			if err != nil || v.IsNull() {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			report.Objects[ref], written[ref] = v, at
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	report.InfoCAs = infoCAs(report.Objects[state.ClusterInfo])
	report.StaticPods = pods.static
	for name, n := range report.Nodes {
		n.Pods = pods.counts[name]
		report.Nodes[name] = n
	}
	report.StaleProxies = staleProxies(pods.proxies, written[state.KubeProxyConfig])
	if err := observeLosses(whole, s, report, pods.lost); err != nil {
		return nil, err
	}
	return report, observePods(whole, s, report, pods.evicted, drained)
}

// allNodes returns the nodes of the cluster.
func allNodes(ctx context.Context, s *session) (map[string]state.NodeReport, error) {
	var out map[string]state.NodeReport
	var room kept
	err := pages[*corev1.NodeList]{
		what: "nodes", most: mostNodes, list: s.typed.CoreV1().Nodes().List,
		begin: func() { out, room = map[string]state.NodeReport{}, kept{what: "nodes"} },
		take: func(page *corev1.NodeList) error {
			for i := range page.Items {
				n := &page.Items[i]
				n.ManagedFields, n.Status.Images = nil, nil
				if err := room.add(n.Size()); err != nil {
					return err
				}
				out[n.Name] = nodeReport(n)
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// infoCAs returns the CAs in cluster-info. Unreadable content counts as absent, and so is
// replaced.
func infoCAs(object state.Value) []state.CertificateInfo {
	conf, err := pki.ParseKubeconfig([]byte(object.Get("data").AsMap()[state.ClusterInfoKey].AsString()))
	if err != nil {
		return nil
	}
	return conf.CAs
}

// serverVersion returns the API server's gitVersion. (The discovery client would ignore the
// context.)
func serverVersion(ctx context.Context, s *session) (string, error) {
	b, err := s.typed.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(b, &info); err != nil || info.GitVersion == "" {
		return "", errors.New("the API did not say which version it is")
	}
	return info.GitVersion, nil
}

// Object implements providers.ObjectReader.
func (a *API) Object(ctx context.Context, ref state.ObjectRef) (state.Value, error) {
	var out state.Value
	err := a.as("read "+ref.String(), func(s *session) (err error) {
		out, err = a.read(ctx, s, ref)
		return err
	})
	return out, err
}

// read fetches one object without its managedFields; null if it does not exist.
func (a *API) read(ctx context.Context, s *session, ref state.ObjectRef) (state.Value, error) {
	v, _, err := a.readWritten(ctx, s, ref)
	return v, err
}

// readWritten is read, with the time at which the object's data was last written.
func (a *API) readWritten(ctx context.Context, s *session, ref state.ObjectRef) (state.Value, time.Time, error) {
	client, err := a.resource(ctx, s, ref)
	if err != nil {
		return state.Value{}, time.Time{}, ignoreAbsent(err)
	}
	u, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return state.Value{}, time.Time{}, ignoreAbsent(err)
	}
	at := dataWritten(u.GetManagedFields())
	u.SetManagedFields(nil)
	return state.FromGo(u.Object), at, nil
}

// ignoreAbsent drops the error for an object, or its kind, that does not exist.
func ignoreAbsent(err error) error {
	if notFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// troubleCap bounds what a node reports against itself, in bytes.
const troubleCap = 400

func nodeReport(n *corev1.Node) state.NodeReport {
	r := state.NodeReport{
		Labels: n.Labels, Annotations: n.Annotations, Unschedulable: n.Spec.Unschedulable,
		KubeletVersion: n.Status.NodeInfo.KubeletVersion,
	}
	for _, t := range n.Spec.Taints {
		r.Taints = append(r.Taints, state.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			r.InternalIPs = append(r.InternalIPs, a.Address)
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			r.Ready, r.Silent = c.Status == corev1.ConditionTrue, c.Status == corev1.ConditionUnknown
			r.Reported = c.LastHeartbeatTime.Time
		}
		if bad := c.Status == corev1.ConditionTrue; bad != (c.Type == corev1.NodeReady) && c.Status != corev1.ConditionUnknown {
			r.Troubles = append(r.Troubles, providers.Sanitize(string(c.Type)+" is "+string(c.Status)+": "+c.Message, troubleCap))
		}
	}
	return r
}

func staticPodReport(p *corev1.Pod) state.StaticPodReport {
	r := state.StaticPodReport{Hash: p.Annotations[hashAnnotation], Running: p.Status.Phase == corev1.PodRunning}
	// Zero if it cannot be parsed; then it has no effect.
	r.Seen, _ = time.Parse(time.RFC3339Nano, p.Annotations[seenAnnotation])
	if p.Status.StartTime != nil {
		r.Acknowledged = p.Status.StartTime.Time
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil {
			r.Started = c.State.Running.StartedAt.Time
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			r.Ready = c.Status == corev1.ConditionTrue
		}
	}
	if len(p.Spec.Containers) > 0 {
		c := p.Spec.Containers[0]
		r.Image = c.Image
		if len(c.Command) > 0 {
			r.Args = append(r.Args, c.Command[1:]...)
		}
		r.Args = append(r.Args, c.Args...)
		r.Probe = probeURL(&c)
	}
	return r
}

// probeURL returns what the kubelet asks to see whether a container lives; empty if it does not ask by
// HTTP. Static pods of the control plane run in the host's network, and their probes name a host.
func probeURL(c *corev1.Container) string {
	if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet == nil {
		return ""
	}
	get := c.LivenessProbe.HTTPGet
	port := get.Port.String()
	for _, p := range c.Ports {
		if p.Name == port {
			port = strconv.Itoa(int(p.ContainerPort))
		}
	}
	u := url.URL{Scheme: strings.ToLower(string(get.Scheme)), Host: net.JoinHostPort(cmp.Or(get.Host, "localhost"), port), Path: get.Path}
	return u.String()
}

// Node implements providers.ObjectReader.
func (a *API) Node(ctx context.Context, name string) (*state.NodeReport, error) {
	var out *state.NodeReport
	err := a.as("read node "+name, func(s *session) error {
		n, err := s.typed.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreAbsent(err)
		}
		r := nodeReport(n)
		out = &r
		return nil
	})
	return out, err
}

// StaticPod implements providers.ObjectReader.
func (a *API) StaticPod(ctx context.Context, name string) (*state.StaticPodReport, error) {
	var out *state.StaticPodReport
	err := a.as("read pod "+name, func(s *session) error {
		p, err := s.typed.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return ignoreAbsent(err)
		}
		r := staticPodReport(p)
		out = &r
		return nil
	})
	return out, err
}
