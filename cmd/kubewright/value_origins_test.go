package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// manySettings are settings of many kinds for the cluster of crashConfig, and
// apiServerSettings are settings for its api_server block.
const (
	manySettings = `
  proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })
  upload_certs = true
  bootstrap_token {
    token = "abcdef.0123456789abcdef"
    ttl   = "0s"
  }
  controller_manager {
    arg "v" { value = "3" }
    arg "profiling" { value = "false" }
  }
  scheduler {
    arg "v" { value = "4" }
  }
  etcd {
    arg "snapshot-count" { value = "1000" }
    extra_env "LEVEL" { value = "etcd" }
  }
  kubelet {
    config = {
      maxPods             = 100
      serializeImagePulls = false
      authentication      = { anonymous = { enabled = true } }
    }
    arg "v" { value = "2" }
  }
  kube_proxy {
    config = {
      mode      = "nftables"
      conntrack = { min = 1000 }
    }
  }
  dns {
    image_tag = "v1.12.9"
  }
  patch {
    target  = "kube-scheduler"
    content = yamlencode({ metadata = { annotations = { "example.com/by" = "us" } } })
  }
  patch {
    target = "kube-apiserver"
    type = "json"
    content = jsonencode([{ op = "replace", path = "/spec/priority", value = 1 }])
  }
  patch {
    target = "kubeletconfiguration"
    content = yamlencode({ maxPods = 90, containerLogMaxFiles = 3 })
  }
  patch {
    target = "corednsdeployment"
    content = yamlencode({ spec = { template = { spec = { containers = [{ name = "coredns", resources = { limits = { memory = "200Mi" } } }] } } } })
  }
  addon "app" {
    manifest = [yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "app", namespace = "default" }, data = { a = "b" } })]
  }
`
	apiServerSettings = `
    arg "audit-log-maxage" { value = "30" }
    arg "audit-log-path" { value = "/audit/log" }
    extra_env "LEVEL" { value = "api" }
    extra_env "HTTPS_PROXY" { value = "http://other:3128" }
    extra_env "IP" {
      value_from = { fieldRef = { fieldPath = "status.hostIP" } }
    }
    extra_volume "audit" {
      host_path  = "/var/log/audit"
      mount_path = "/audit"
      path_type  = "DirectoryOrCreate"
    }
`
)

// TestOriginOfOwnAPIServerAddress checks that, where a component uses the API server of its own
// control plane, the origin is the line of that node's address, not of the shared endpoint.
func TestOriginOfOwnAPIServerAddress(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.must(t, "sim", "edit", "10.0.0.12", "file", "/etc/kubernetes/scheduler.conf", "delete")
	f.must(t, "plan", "-out=plan.kwplan")
	saved, err := planfile.Read(filepath.Join(string(f), "plan.kwplan"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	lines, servers := strings.Split(string(text), "\n"), 0
	for _, c := range saved.Plan.Changes {
		for _, a := range c.Attributes {
			if a.Path != "server" || !strings.Contains(a.After.AsString(), "10.0.0.12") {
				continue
			}
			servers++
			if line := a.Origin.Line; line == 0 || !strings.Contains(lines[line-1], "address  = each.value") {
				t.Errorf("%s has line %d as its origin", c.Address, line)
			}
		}
	}
	if servers == 0 {
		t.Error("the plan changes no server")
	}
}

// TestEveryPlannedValueHasOrigin checks that each value that a plan changes has an origin: the file
// and line of the configuration that sets it, or the default that applies.
func TestEveryPlannedValueHasOrigin(t *testing.T) {
	t.Parallel()
	f := foundedFolder(t)
	f.replace(t, "  api_server {\n", manySettings+"  api_server {\n"+apiServerSettings)
	f.replace(t, `["api.example.com"]`, `["api.example.com", "api.example.org"]`)
	f.replace(t, `{ "node.example.com/pool" = "general" }`, "{ \"node.example.com/pool\" = \"batch\" }\n  annotations = { \"example.com/by\" = \"us\" }\n  taint \"dedicated\" {\n    value  = \"batch\"\n    effect = \"NoSchedule\"\n  }")
	f.must(t, "plan", "-out=plan.kwplan")
	saved, err := planfile.Read(filepath.Join(string(f), "plan.kwplan"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(string(f), "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	got := map[string]string{}
	for _, c := range saved.Plan.Changes {
		if c.Action == planner.Delete {
			continue
		}
		note := func(value string, origin state.Source) {
			said := origin.Default
			if origin.Line > 0 {
				said = strings.TrimSpace(lines[origin.Line-1])
			}
			if said == "patch {" {
				said = strings.TrimSpace(lines[origin.Line])
			}
			if other, ok := got[value]; ok && other != said {
				t.Errorf("%s has the origin %q on one node and %q on another", value, said, other)
			}
			got[value] = said
		}
		for _, a := range c.Attributes {
			value := path.Base(c.Address.ID()) + " " + a.Path
			note(value, a.Origin)
			for part, origin := range a.Origins {
				note(value+" | "+part, origin)
			}
		}
	}
	for value, said := range got {
		if want, ok := lineOf[value]; !ok || want != said {
			t.Errorf("%q: %q, want %q", value, said, want)
		}
	}
	for value := range lineOf {
		if _, ok := got[value]; !ok {
			t.Errorf("the plan does not change %s", value)
		}
	}
}

// lineOf maps the values that TestEveryPlannedValueHasOrigin plans to their configuration lines, or
// to their defaults.
var lineOf = map[string]string{
	"apiserver dns_names":                                                                `cert_sans = ["api.example.com", "api.example.org"]`,
	"app data.a":                                                                         `addon "app" {`,
	"bootstrap-token-abcdef groups":                                                      "bootstrap_token {",
	"bootstrap-token-abcdef lifetime":                                                    "bootstrap_token {",
	"bootstrap-token-abcdef secret":                                                      "bootstrap_token {",
	"bootstrap-token-abcdef usages":                                                      "bootstrap_token {",
	"config.yaml authentication.anonymous.enabled":                                       "authentication      = { anonymous = { enabled = true } }",
	"config.yaml containerLogMaxFiles":                                                   `target = "kubeletconfiguration"`,
	"config.yaml maxPods":                                                                `target = "kubeletconfiguration"`,
	"config.yaml serializeImagePulls":                                                    "serializeImagePulls = false",
	"coredns spec.template.spec.containers.coredns.image":                                `image_tag = "v1.12.9"`,
	"coredns spec.template.spec.containers.coredns.resources.limits.memory":              `target = "corednsdeployment"`,
	"coredns:v1.12.9 present":                                                            `image_tag = "v1.12.9"`,
	"etcd.yaml args.snapshot-count":                                                      `arg "snapshot-count" { value = "1000" }`,
	"etcd.yaml env":                                                                      `extra_env "LEVEL" { value = "etcd" }`,
	`host-10-0-0-21 annotations["example.com/by"]`:                                       `annotations = { "example.com/by" = "us" }`,
	`host-10-0-0-21 labels["node.example.com/pool"]`:                                     `labels  = { "node.example.com/pool" = "batch" }`,
	"host-10-0-0-21 taints.dedicated:NoSchedule":                                         `taint "dedicated" {`,
	"kube-apiserver.yaml args.audit-log-maxage":                                          `arg "audit-log-maxage" { value = "30" }`,
	"kube-apiserver.yaml args.audit-log-path":                                            `arg "audit-log-path" { value = "/audit/log" }`,
	"kube-apiserver.yaml env":                                                            `proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })`,
	"kube-apiserver.yaml mounts.audit":                                                   `mount_path = "/audit"`,
	"kube-apiserver.yaml pod.spec.priority":                                              `target = "kube-apiserver"`,
	"kube-apiserver.yaml volumes.audit":                                                  `host_path  = "/var/log/audit"`,
	"kube-controller-manager.yaml args.profiling":                                        `arg "profiling" { value = "false" }`,
	"kube-controller-manager.yaml args.v":                                                `arg "v" { value = "3" }`,
	"kube-controller-manager.yaml env":                                                   `proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })`,
	`kube-proxy data["config.conf"].conntrack.min`:                                       "conntrack = { min = 1000 }",
	`kube-proxy data["config.conf"].mode`:                                                `mode      = "nftables"`,
	`kube-proxy metadata.annotations["kubeadm.kubernetes.io/component-config.hash"]`:     "config = {",
	"kube-proxy spec.template.spec.containers.kube-proxy.env.HTTPS_PROXY":                `proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })`,
	"kube-proxy spec.template.spec.containers.kube-proxy.env.NO_PROXY":                   `proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })`,
	"kube-scheduler.yaml annotations":                                                    `target  = "kube-scheduler"`,
	"kube-scheduler.yaml args.v":                                                         `arg "v" { value = "4" }`,
	"kube-scheduler.yaml env":                                                            `proxy_env = merge({ HTTPS_PROXY = "http://proxy:3128" }, { NO_PROXY = "10.0.0.0/8" })`,
	"kubeadm-certs files":                                                                "upload_certs = true",
	"kubeadm-certs key":                                                                  "kubeadm 1.36",
	"kubeadm-config data.ClusterConfiguration.apiServer.certSANs":                        `cert_sans = ["api.example.com", "api.example.org"]`,
	"kubeadm-config data.ClusterConfiguration.apiServer.extraArgs":                       `arg "audit-log-maxage" { value = "30" }`,
	"kubeadm-config data.ClusterConfiguration.apiServer.extraEnvs":                       `extra_env "LEVEL" { value = "api" }`,
	"kubeadm-config data.ClusterConfiguration.apiServer.extraVolumes":                    `host_path  = "/var/log/audit"`,
	"kubeadm-config data.ClusterConfiguration.controllerManager.extraArgs":               `arg "v" { value = "3" }`,
	"kubeadm-config data.ClusterConfiguration.dns.imageTag":                              `image_tag = "v1.12.9"`,
	"kubeadm-config data.ClusterConfiguration.etcd.local.extraArgs":                      `arg "snapshot-count" { value = "1000" }`,
	"kubeadm-config data.ClusterConfiguration.etcd.local.extraEnvs":                      `extra_env "LEVEL" { value = "etcd" }`,
	"kubeadm-config data.ClusterConfiguration.scheduler.extraArgs":                       `arg "v" { value = "4" }`,
	"kubeadm-flags.env args.register-with-taints":                                        `taint "dedicated" {`,
	"kubeadm-flags.env args.v":                                                           `arg "v" { value = "2" }`,
	"kubeadm:kubeadm-certs roleRef.apiGroup":                                             "upload_certs = true",
	"kubeadm:kubeadm-certs roleRef.kind":                                                 "upload_certs = true",
	"kubeadm:kubeadm-certs roleRef.name":                                                 "upload_certs = true",
	"kubeadm:kubeadm-certs rules":                                                        "upload_certs = true",
	"kubeadm:kubeadm-certs subjects":                                                     "upload_certs = true",
	"kubelet-config data.kubelet.authentication.anonymous.enabled":                       "authentication      = { anonymous = { enabled = true } }",
	"kubelet-config data.kubelet.maxPods":                                                "maxPods             = 100",
	"kubelet-config data.kubelet.serializeImagePulls":                                    "serializeImagePulls = false",
	`kubelet-config metadata.annotations["kubeadm.kubernetes.io/component-config.hash"]`: "config = {",
	"kube-apiserver.yaml env | HTTPS_PROXY":                                              "extra_env \"HTTPS_PROXY\" { value = \"http://other:3128\" }",
	"kube-apiserver.yaml env | IP.valueFrom.fieldRef.apiVersion":                         "value_from = { fieldRef = { fieldPath = \"status.hostIP\" } }",
	"kube-apiserver.yaml env | IP.valueFrom.fieldRef.fieldPath":                          "value_from = { fieldRef = { fieldPath = \"status.hostIP\" } }",
	"kube-apiserver.yaml env | LEVEL":                                                    "extra_env \"LEVEL\" { value = \"api\" }",
	"kube-apiserver.yaml env | NO_PROXY":                                                 "proxy_env = merge({ HTTPS_PROXY = \"http://proxy:3128\" }, { NO_PROXY = \"10.0.0.0/8\" })",
	"kube-apiserver.yaml volumes.audit | hostPath.path":                                  "host_path  = \"/var/log/audit\"",
	"kube-apiserver.yaml volumes.audit | hostPath.type":                                  "path_type  = \"DirectoryOrCreate\"",
	"kubeadm-config data.ClusterConfiguration.apiServer.extraArgs | audit-log-maxage":    "arg \"audit-log-maxage\" { value = \"30\" }",
	"kubeadm-config data.ClusterConfiguration.apiServer.extraArgs | audit-log-path":      "arg \"audit-log-path\" { value = \"/audit/log\" }",
	"kubeadm-config data.ClusterConfiguration.apiServer.extraEnvs | HTTPS_PROXY":         "extra_env \"HTTPS_PROXY\" { value = \"http://other:3128\" }",
	"kubeadm-config data.ClusterConfiguration.apiServer.extraEnvs | IP":                  "value_from = { fieldRef = { fieldPath = \"status.hostIP\" } }",
	"kubeadm-config data.ClusterConfiguration.apiServer.extraEnvs | LEVEL":               "extra_env \"LEVEL\" { value = \"api\" }",
	"kubeadm-config data.ClusterConfiguration.controllerManager.extraArgs | profiling":   "arg \"profiling\" { value = \"false\" }",
	"kubeadm-config data.ClusterConfiguration.controllerManager.extraArgs | v":           "arg \"v\" { value = \"3\" }",
}
