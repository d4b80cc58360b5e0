//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/state"
)

// change edits the configuration and checks that exactly that changes, one control plane at a
// time, with the API available throughout.
func (s *site) change() {
	s.extra = "  # maxPods\n  api_server {\n    arg \"audit-log-maxage\" { value = \"30\" }\n  }\n"
	s.proxy = ", metricsBindAddress = \"127.0.0.1:10249\""
	s.workerExtra = "  labels  = { \"node.example.com/pool\" = \"batch\" }\n"
	s.configure()
	s.wantItems(s.changed())
	fromPod := s.pollFromPod()
	proxies := strings.Fields(s.kubectl(proxyUIDs...))
	answered, outages := s.watchReads(), s.watchServers()
	r := s.must("apply", "-auto-approve", "-no-color")
	wantContains(s.t, r.out, "audit-log-maxage", "maxPods", "node.example.com/pool", "cluster.hcl:",
		fmt.Sprintf("Plan: 0 to add, %d to change, 0 to destroy.", len(s.hosts())+1),
		fmt.Sprintf("Apply complete! Resources: 0 added, %d changed, 0 destroyed.", len(s.hosts())+1))
	s.wantOneAtATime(outages())
	answered()
	total, failed, last := fromPod()
	s.t.Logf("API from a pod through kubernetes.default, polled every 200 ms while it changed: %d requests, %d failed %s", total, failed, last)
	if total == 0 {
		s.t.Error("the pod has sent no request to the API")
	}
	s.wantNoChanges()
	s.wantCluster()
	rolled := strings.Fields(s.kubectl(proxyUIDs...))
	if len(rolled) != len(s.hosts()) || slices.ContainsFunc(rolled, func(uid string) bool { return slices.Contains(proxies, uid) }) {
		s.t.Errorf("the pods of kube-proxy are %q, before their configuration changed %q", rolled, proxies)
	}
	for _, h := range s.planes {
		s.sh(h.Name, "pgrep -af kube-apiserver | grep -q audit-log-maxage=30")
	}
	for _, h := range s.workers {
		if got := s.kubectl("get", "node", h.Name, "-o", "jsonpath={.metadata.labels.node\\.example\\.com/pool}"); got != "batch" {
			s.t.Errorf("label of %s is %q", h.Name, got)
		}
	}
}

// proxyUIDs are the arguments that list the pods of kube-proxy.
var proxyUIDs = []string{"-n", "kube-system", "get", "pods", "-l", "k8s-app=kube-proxy", "-o", "jsonpath={.items[*].metadata.uid}"}

// changed returns the items that change affects, with the changed fields of each.
func (s *site) changed() map[string]string {
	const uploaded = "cluster.prod/upload-config/object:v1/ConfigMap/kube-system/"
	out := map[string]string{
		uploaded + "kubeadm-config":                                   `data.ClusterConfiguration.apiServer.extraArgs: null -> [{"name":"audit-log-maxage","value":"30"}]`,
		uploaded + "kubelet-config":                                   "data.kubelet.maxPods: null -> 120",
		"cluster.prod/addon/object:" + state.KubeProxyConfig.String(): `data["config.conf"].metricsBindAddress: "" -> "127.0.0.1:10249"`,
	}
	for _, h := range s.planes {
		out[h.Name+"/control-plane/file:"+apiServerFile] = `args.audit-log-maxage: null -> "30"`
		out[h.Name+"/kubelet-start/file:"+kubeletFile] = "maxPods: null -> 120"
	}
	for _, h := range s.workers {
		out[h.Name+"/kubelet-start/file:"+kubeletFile] = "maxPods: null -> 120"
		out[h.Name+"/mark-worker/node:"+h.Name] = `labels["node.example.com/pool"]: null -> "batch"`
	}
	return out
}

// wantItems checks that a plan updates exactly these items, each with these fields from one value
// to another. Items of a node are given below its name, whatever its block's label is.
func (s *site) wantItems(want map[string]string) {
	s.t.Helper()
	var plan struct {
		Resources []struct {
			Address string
			Change  struct{ Before struct{ Name string } }
			Items   []struct {
				Address    string
				Actions    []string
				Attributes []struct {
					Path          string
					Before, After json.RawMessage
				}
			}
		} `json:"resource_changes"`
	}
	r := s.must("plan", "-format=json")
	if err := json.Unmarshal([]byte(r.out), &plan); err != nil {
		s.t.Fatal(err)
	}
	got := map[string]string{}
	for _, resource := range plan.Resources {
		for _, i := range resource.Items {
			var fields []string
			for _, a := range i.Attributes {
				fields = append(fields, fmt.Sprintf("%s: %s -> %s", a.Path, a.Before, a.After))
			}
			address := i.Address
			if rest, ok := strings.CutPrefix(address, resource.Address); ok && resource.Change.Before.Name != "" {
				address = resource.Change.Before.Name + rest
			}
			got[address] = strings.Join(fields, ", ")
			if !slices.Equal(i.Actions, []string{"update"}) {
				s.t.Errorf("%s: %v, want an update in place", i.Address, i.Actions)
			}
		}
	}
	for address := range got {
		if got[address] != want[address] {
			s.t.Errorf("%s: the plan changes %q, want %q", address, got[address], want[address])
		}
	}
	for address := range want {
		if _, ok := got[address]; !ok {
			s.t.Errorf("the plan does not change %s", address)
		}
	}
}

// outage is a period in which the API server of a host was not ready, and what it, or the attempt
// to ask it, said first.
type outage struct {
	host     string
	from, to time.Time
	why      error
}

// watchServers polls the readiness of every API server separately. The returned function ends it
// and returns the outages, in order.
func (s *site) watchServers() func() []outage {
	var mu sync.Mutex
	var all []outage
	var ends []func()
	for _, h := range s.planes {
		ready, down := s.server(h), outage{host: h.Name}
		ends = append(ends, each(50*time.Millisecond, func(context.Context) {
			switch err := ready(); {
			case err != nil && down.why == nil:
				down.from, down.why = time.Now(), err
			case err == nil && down.why != nil:
				down.to = time.Now()
				mu.Lock()
				all = append(all, down)
				mu.Unlock()
				down.why = nil
			}
		}))
	}
	return func() []outage {
		for _, end := range ends {
			end()
		}
		slices.SortFunc(all, func(a, b outage) int { return a.from.Compare(b.from) })
		return all
	}
}

// server returns a function that asks whether the API server of a host is ready. A slow answer of
// etcd does not count as an outage.
func (s *site) server(h lab.Host) (ready func() error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		// Other tests verify the certificate; here only the answer counts.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	url := fmt.Sprintf("https://%s/readyz?exclude=etcd&exclude=etcd-readiness", netip.AddrPortFrom(h.Address(), 6443))
	return func() error {
		answer, err := client.Get(url)
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", answer.Status, text)
		}
		return nil
	}
}

// wantOneAtATime checks that each API server was down once, and that each was stopped only after
// the previous one was ready again.
func (s *site) wantOneAtATime(outages []outage) {
	s.t.Helper()
	var hosts []string
	for i, o := range outages {
		hosts = append(hosts, o.host)
		s.t.Logf("API server of %s down from %s for %s: %v", o.host, o.from.Format("15:04:05.00"), o.to.Sub(o.from).Round(10*time.Millisecond), o.why)
		if i > 0 && o.from.Before(outages[i-1].to) {
			s.t.Errorf("the API server of %s was stopped %s before that of %s was ready", o.host, outages[i-1].to.Sub(o.from), outages[i-1].host)
		}
	}
	slices.Sort(hosts)
	var want []string
	for _, h := range s.planes {
		want = append(want, h.Name)
	}
	if !slices.Equal(hosts, want) {
		s.t.Errorf("the API servers of %v were down, want each of %v once", hosts, want)
	}
}
