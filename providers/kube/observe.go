package kube

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/state"
)

// Annotations of mirror pods.
const (
	mirrorAnnotation = "kubernetes.io/config.mirror"
	hashAnnotation   = "kubernetes.io/config.hash"
	seenAnnotation   = "kubernetes.io/config.seen"
)

// concurrentReads bounds the requests under way at once, well below what an
// API server takes on one connection.
const concurrentReads = 48

// Observe implements providers.API. The version is asked for first, alone, so
// that the connection is there before everything else is asked side by side. How long it
// takes is not limited, as long as something comes.
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
	var nodes *corev1.NodeList
	var pods *corev1.PodList
	var mu sync.Mutex
	whole := ctx
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(concurrentReads)
	eg.Go(func() (err error) { nodes, err = s.typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); return err })
	eg.Go(func() (err error) { pods, err = allPods(ctx, s); return err })
	eg.Go(func() error {
		report.JoinTokens, _ = joinTokens(ctx, s) // unread, they expire by themselves
		return nil
	})
	if q.TokenSecrets {
		report.TokensSeen = true
		eg.Go(func() (err error) { report.TokenSecrets, err = tokenSecrets(ctx, s); return err })
	}
	for _, ref := range q.Objects {
		eg.Go(func() error {
			v, err := a.read(ctx, s, ref)
			if err != nil || v.IsNull() {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			report.Objects[ref] = v
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	report.InfoCAs = infoCAs(report.Objects[state.ClusterInfo])
	for i := range nodes.Items {
		report.Nodes[nodes.Items[i].Name] = nodeReport(&nodes.Items[i])
	}
	countPods(report, pods)
	return report, observePods(whole, s, report, pods, q.Drained(report.Nodes))
}

// infoCAs are the CAs in cluster-info. What cannot be read is as if it were not there: it is
// to be replaced.
func infoCAs(object state.Value) []state.CertificateInfo {
	conf, err := pki.ParseKubeconfig([]byte(object.Get("data").AsMap()[state.ClusterInfoKey].AsString()))
	if err != nil {
		return nil
	}
	return conf.CAs
}

// serverVersion is the API server's gitVersion. (The discovery client would
// not heed the context.)
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

// read fetches one object without its managedFields; null when it does not exist.
func (a *API) read(ctx context.Context, s *session, ref state.ObjectRef) (state.Value, error) {
	client, err := a.resource(ctx, s, ref)
	if err != nil {
		return state.Value{}, ignoreAbsent(err)
	}
	u, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return state.Value{}, ignoreAbsent(err)
	}
	u.SetManagedFields(nil)
	return state.FromGo(u.Object), nil
}

// ignoreAbsent drops the error that says that an object, or its kind, does not exist.
func ignoreAbsent(err error) error {
	if notFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

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
		}
	}
	return r
}

// countPods takes the mirror pods of kube-system out of all pods, and counts
// those of each node that a drain would have to evict.
func countPods(report *state.ClusterReport, pods *corev1.PodList) {
	for i := range pods.Items {
		p := &pods.Items[i]
		if _, mirror := p.Annotations[mirrorAnnotation]; mirror && p.Namespace == metav1.NamespaceSystem {
			report.StaticPods[p.Name] = staticPodReport(p)
		}
		if stays(p) {
			continue
		}
		if n, ok := report.Nodes[p.Spec.NodeName]; ok {
			n.Pods++
			report.Nodes[p.Spec.NodeName] = n
		}
	}
}

func staticPodReport(p *corev1.Pod) state.StaticPodReport {
	r := state.StaticPodReport{Hash: p.Annotations[hashAnnotation], Running: p.Status.Phase == corev1.PodRunning}
	// Left zero, and then of no consequence, when it cannot be parsed.
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
	}
	return r
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
