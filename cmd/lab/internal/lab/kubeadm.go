package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// KubeadmOptions configure the cluster that kubeadm creates from a lab's hosts. The zero value
// takes all hosts and kube-proxy's default mode.
type KubeadmOptions struct {
	ControlPlanes []string // hosts, bootstrapped on the first; default all control planes
	Workers       []string // default all workers, if ControlPlanes is empty too
	ProxyMode     string   // iptables or nftables; default kubeadm's
	Cluster       string   // further YAML of ClusterConfiguration, at top level
	Kubelet       string   // further YAML of KubeletConfiguration, at top level
	Proxy         string   // further YAML of KubeProxyConfiguration, at top level
	Networking    string   // further fields of networking, as YAML in one line: dnsDomain: corp.example
	ServiceSubnet string   // default the lab's
	Node          string   // further YAML of InitConfiguration and JoinConfiguration, at top level
	Join          string   // further YAML of JoinConfiguration, at top level
	// Registration has further fields of a host's nodeRegistration, as YAML in one line; unless
	// the name is among them, it is the host's.
	Registration map[string]string
	Log          io.Writer // output of kubeadm; default none
}

// KubeadmTimes are the durations of the parts of creating a cluster.
type KubeadmTimes struct {
	Init          time.Duration
	ControlPlanes []time.Duration // each join, in sequence
	Workers       time.Duration   // all joins, in parallel
	Ready         time.Duration   // after that, until every node is Ready and CoreDNS answers
	Total         time.Duration
}

// preflightFindings are kubeadm's checks that fail on lab hosts for known reasons: cgroup v1, and
// a kernel without readable configuration.
const preflightFindings = "SystemVerification"

// KubeadmCluster creates a cluster as kubeadm's guide to highly available clusters does by hand:
// init on the first control plane, the other control planes in sequence, the workers in parallel.
// It returns when every node is Ready and CoreDNS is available. It is the reference for
// kubewright's result and duration.
func KubeadmCluster(ctx context.Context, l *Lab, o KubeadmOptions) (KubeadmTimes, error) {
	if len(o.ControlPlanes) == 0 {
		o.ControlPlanes, o.Workers = l.hostsOf(ControlPlane), l.hostsOf(Worker)
	}
	if len(o.ControlPlanes) == 0 {
		return KubeadmTimes{}, errors.New("cannot make a cluster without control planes")
	}
	k := kubeadm{lab: l, options: o, token: randomHex(3) + "." + randomHex(8), certificateKey: randomHex(32)}
	var times KubeadmTimes
	start := time.Now()
	err := k.cluster(ctx, &times)
	times.Total = time.Since(start)
	if err != nil {
		return times, fmt.Errorf("cannot make a cluster with kubeadm: %w", err)
	}
	return times, nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// kubeadm is the creation of one cluster.
type kubeadm struct {
	lab            *Lab
	options        KubeadmOptions
	token          string // id.secret
	certificateKey string
	logging        sync.Mutex
}

func (k *kubeadm) cluster(ctx context.Context, times *KubeadmTimes) error {
	founder := k.options.ControlPlanes[0]
	args := []string{"init"}
	if len(k.options.ControlPlanes) > 1 {
		args = append(args, "--upload-certs") // for the other control planes
	}
	err := stopwatch(&times.Init, func() error {
		return k.run(ctx, founder, k.initConfig(founder), args...)
	})
	if err != nil {
		return err
	}
	hash, err := k.caHash(ctx, founder)
	if err != nil {
		return err
	}
	for _, host := range k.options.ControlPlanes[1:] {
		var took time.Duration
		err := stopwatch(&took, func() error { return k.run(ctx, host, k.joinConfig(host, hash, true), "join") })
		if err != nil {
			return err
		}
		times.ControlPlanes = append(times.ControlPlanes, took)
	}
	err = stopwatch(&times.Workers, func() error {
		errs := make([]error, len(k.options.Workers))
		var group sync.WaitGroup
		for i, host := range k.options.Workers {
			group.Go(func() { errs[i] = k.run(ctx, host, k.joinConfig(host, hash, false), "join") })
		}
		group.Wait()
		return errors.Join(errs...)
	})
	if err != nil {
		return err
	}
	return stopwatch(&times.Ready, func() error { return k.lab.WaitReady(ctx, founder) })
}

func stopwatch(into *time.Duration, do func() error) error {
	start := time.Now()
	err := do()
	*into = time.Since(start)
	return err
}

// run runs kubeadm on a host. Its configuration comes on standard input, so that no file of it
// remains on the host.
func (k *kubeadm) run(ctx context.Context, host, config string, args ...string) error {
	argv := append([]string{"kubeadm"}, args...)
	argv = append(argv, "--config", "/dev/stdin", "--ignore-preflight-errors", preflightFindings)
	out, err := k.lab.ExecInput(ctx, host, config, argv...)
	if k.options.Log != nil {
		k.logging.Lock()
		defer k.logging.Unlock()
		for line := range strings.Lines(string(out)) {
			fmt.Fprintf(k.options.Log, "%s: %s", host, line)
		}
	}
	return err
}

// caHash returns the hash with which joining nodes verify the cluster's CA.
func (k *kubeadm) caHash(ctx context.Context, founder string) (string, error) {
	out, err := k.lab.Exec(ctx, founder, "kubeadm", "token", "create", "--print-join-command", "--ttl", "1m")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out))
	for i, f := range fields {
		if f == "--discovery-token-ca-cert-hash" && i+1 < len(fields) {
			return fields[i+1], nil
		}
	}
	return "", fmt.Errorf("cannot find the CA's hash in %q", out)
}

func (k *kubeadm) initConfig(host string) string {
	h, err := k.lab.Host(host)
	if err != nil {
		return "" // running kubeadm on this host fails as well
	}
	name, address := k.lab.Endpoint()
	return fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens: [{token: %q}]
certificateKey: %q
localAPIEndpoint: {advertiseAddress: %q}
nodeRegistration: {%s}
%s
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %q
controlPlaneEndpoint: "%s:%d"
networking: {podSubnet: %q, serviceSubnet: %q%s}
%s
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
failCgroupV1: false
%s
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: %q
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
%s
`, k.token, k.certificateKey, h.Address(), k.registration(h), k.options.Node, k.lab.record.Kubernetes, name, address.Port(),
		JoinPrefixes(k.lab.PodSubnets()), cmp.Or(k.options.ServiceSubnet, JoinPrefixes(k.lab.Families().ServiceSubnets())), after(k.options.Networking),
		k.options.Cluster, k.kubelet(), k.options.ProxyMode, k.options.Proxy)
}

// sharedDisk are settings for kubelets that share the machine's disk: other users of the disk
// must cause neither evictions nor image garbage collection.
var sharedDisk = []struct{ setting, value string }{
	{"evictionHard", "{imagefs.available: 0%, nodefs.available: 0%, nodefs.inodesFree: 0%}"},
	{"imageGCHighThresholdPercent", "100"},
}

// kubelet returns the further YAML of KubeletConfiguration.
func (k *kubeadm) kubelet() string {
	text := strings.TrimSuffix(k.options.Kubelet, "\n")
	for _, s := range sharedDisk {
		if !strings.Contains(text, s.setting) {
			text += "\n" + s.setting + ": " + s.value
		}
	}
	return strings.TrimPrefix(text, "\n")
}

// after returns further fields with a leading comma.
func after(fields string) string {
	if fields == "" {
		return ""
	}
	return ", " + fields
}

// registration returns the fields of a host's nodeRegistration.
func (k *kubeadm) registration(h Host) string {
	own := k.options.Registration[h.Name]
	fields := "criSocket: unix:///run/containerd/containerd.sock" + after(own)
	if !strings.Contains(own, "name: ") {
		fields += after(fmt.Sprintf("name: %q", h.Name))
	}
	return fields
}

func (k *kubeadm) joinConfig(host, hash string, controlPlane bool) string {
	h, err := k.lab.Host(host)
	if err != nil {
		return ""
	}
	name, address := k.lab.Endpoint()
	text := fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {apiServerEndpoint: "%s:%d", token: %q, caCertHashes: [%q]}
nodeRegistration: {%s}
%s
%s
`, name, address.Port(), k.token, hash, k.registration(h), k.options.Node, k.options.Join)
	if controlPlane {
		text += fmt.Sprintf("controlPlane: {certificateKey: %q, localAPIEndpoint: {advertiseAddress: %q}}\n", k.certificateKey, h.Address())
	}
	return text
}
