package lab

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestKubeadmConfigs(t *testing.T) {
	t.Parallel()
	k := kubeadm{
		lab: testLab(t), token: "abcdef.0123456789abcdef", certificateKey: "cafe",
		options: KubeadmOptions{Kubelet: "maxPods: 50\nevictionHard: {memory.available: 5%}\n", Cluster: "certificatesDir: /etc/kubernetes/pki", ProxyMode: "nftables"},
	}
	docs := map[string]map[string]any{}
	for _, text := range strings.Split(k.initConfig("cp1")+"---\n"+k.joinConfig("cp1", "sha256:ab", true), "---\n") {
		var doc map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		docs[doc["kind"].(string)] = doc
	}
	if got := docs["ClusterConfiguration"]["controlPlaneEndpoint"]; got != "api.x.test:6443" {
		t.Errorf("endpoint %v", got)
	}
	if got := docs["KubeletConfiguration"]["maxPods"]; got != 50.0 {
		t.Errorf("further configuration is lost: %v", got)
	}
	if docs["KubeletConfiguration"]["imageGCHighThresholdPercent"] != 100.0 {
		t.Error("a full disk of the machine causes image garbage collection")
	}
	if got := docs["KubeProxyConfiguration"]["mode"]; got != "nftables" {
		t.Errorf("mode %v", got)
	}
	if docs["JoinConfiguration"]["controlPlane"] == nil {
		t.Error("a control plane joins as a worker")
	}
	if strings.Contains(k.joinConfig("w1", "sha256:ab", false), "controlPlane:") {
		t.Error("a worker joins as a control plane")
	}
}
