package verdict

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// baseConfigs are configurations with which components start, in the form that kubeadm writes.
var baseConfigs = map[string]string{
	"kubelet": `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {cacheTTL: 0s, enabled: true}, x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///shared/containerd.sock
failCgroupV1: false
failSwapOn: false
healthzBindAddress: 127.0.0.1
healthzPort: 10248
resolvConf: /etc/resolv.conf
rotateCertificates: true
staticPodPath: /etc/kubernetes/none
`,
	"kube-proxy": `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 0.0.0.0
clientConnection: {kubeconfig: /etc/kubernetes/admin.conf}
clusterCIDR: ""
hostnameOverride: verdict
mode: ""
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`,
}

const kubeadmConfig = `
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 10.0.0.2}
nodeRegistration: {name: verdict}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %s
`

// prepare has kubeadm write certificates, kubeconfigs and manifests, whose flags are the base of
// all mutations, and starts what components need beside them.
func (l *Lab) prepare(ctx context.Context) error {
	c := <-l.cells
	l.cells <- c
	template := filepath.Join(l.dir, "template")
	if err := os.WriteFile(filepath.Join(c.dir, "shared", "kubeadm.yaml"), fmt.Appendf(nil, kubeadmConfig, l.version), 0o600); err != nil {
		return err
	}
	const phases = "set -e; for p in 'certs all' 'kubeconfig all' 'kubeconfig kubelet' 'control-plane all' 'etcd local'; do /programs/kubeadm init phase $p --config /shared/kubeadm.yaml; done; echo 127.0.0.1 localhost >/etc/hosts"
	if out, err := l.command(c, 0, []string{"UPPER=" + template}, "/bin/sh", "-c", phases).CombinedOutput(); err != nil {
		return fmt.Errorf("kubeadm: %w\n%s", err, out)
	}
	l.lower = template + ":" + l.lower
	l.base = map[string][]string{
		"kubelet":    {"config=/shared/config.yaml", "kubeconfig=/etc/kubernetes/kubelet.conf"},
		"kube-proxy": {"config=/shared/config.yaml"},
	}
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		content, err := os.ReadFile(filepath.Join(template, "etc/kubernetes/manifests", component+".yaml"))
		if err != nil {
			return err
		}
		var pod corev1.Pod
		if err := yaml.Unmarshal(content, &pod); err != nil {
			return err
		}
		for _, a := range pod.Spec.Containers[0].Command[1:] {
			l.base[component] = append(l.base[component], strings.TrimPrefix(a, "--"))
		}
	}
	for range parallel {
		c := <-l.cells
		err := l.beside(c, template)
		l.cells <- c
		if err != nil {
			return err
		}
	}
	return l.checkBase(ctx)
}

// beside starts the container runtime and the API of a cell.
func (l *Lab) beside(c *cell, template string) error {
	if err := serve(c, filepath.Join(template, "etc/kubernetes/pki")); err != nil {
		return err
	}
	content := "version = 3\nroot = \"/run/root\"\nstate = \"/run/state\"\n[grpc]\naddress = \"/shared/containerd.sock\"\n"
	if err := os.WriteFile(filepath.Join(c.dir, "shared", "containerd.toml"), []byte(content), 0o600); err != nil {
		return err
	}
	cmd := l.command(c, 0, nil, "/programs/containerd", "--config", "/shared/containerd.toml")
	log, err := os.Create(filepath.Join(c.dir, "containerd.log"))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	return cmd.Start()
}

// checkBase requires that all components take what is not mutated.
func (l *Lab) checkBase(ctx context.Context) error {
	var base []Mutation
	for _, component := range slices.Sorted(slices.Values(Components)) {
		base = append(base, Mutation{Component: component})
	}
	verdicts, err := l.Run(ctx, base, nil)
	for _, v := range verdicts {
		if v.Answer != Took && err == nil {
			err = fmt.Errorf("%s does not start without a mutation: %s", v.Mutation.Component, v.Reason)
		}
	}
	return err
}
