package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// These are the files that install writes itself. Their settings match the units that pkgs.k8s.io
// and containerd's project ship; only paths differ.

const containerdService = `# written by kubewright
[Unit]
Description=containerd container runtime
Documentation=https://containerd.io
After=network.target dbus.service

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`

const kubeletService = `# written by kubewright
[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/local/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`

// kubeletServiceDropIn starts the program in the way of kubeadm's package. It reads both files for
// a user's own flags: packages for Debian have /etc/default/kubelet, those for Red Hat
// /etc/sysconfig/kubelet.
func kubeletServiceDropIn(program string) string {
	return `# written by kubewright
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
EnvironmentFile=-/etc/sysconfig/kubelet
ExecStart=
ExecStart=` + program + ` $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`
}

// containerdConfig returns containerd's configuration: the systemd cgroup driver, which the kubelet
// uses as well, the pause image of this release, runc where it comes from the artifacts, and
// folders for the site's own additions. containerd 1.x reads version 2 of the format, containerd
// 2.x version 3.
func containerdConfig(version, pause string, ownRunc bool) string {
	var b strings.Builder
	b.WriteString("# written by kubewright; settings of your own go into files in conf.d\n")
	format, runtime, images := 3, "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"
	if strings.HasPrefix(version, "1.") {
		format, runtime, images = 2, "io.containerd.grpc.v1.cri", "io.containerd.grpc.v1.cri"
	}
	fmt.Fprintf(&b, "version = %d\nimports = [%q]\n\n", format, runtimeImports+"/*.toml")
	if format == 2 {
		fmt.Fprintf(&b, "[plugins.%q]\n  sandbox_image = %q\n\n", images, pause)
	} else {
		fmt.Fprintf(&b, "[plugins.%q.pinned_images]\n  sandbox = %q\n\n", images, pause)
	}
	fmt.Fprintf(&b, "[plugins.%q.registry]\n  config_path = \"/etc/containerd/certs.d\"\n\n", images)
	fmt.Fprintf(&b, "[plugins.%q.containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n\n", runtime)
	fmt.Fprintf(&b, "[plugins.%q.containerd.runtimes.runc.options]\n", runtime)
	if ownRunc {
		fmt.Fprintf(&b, "  BinaryName = %q\n", runcProgram)
	}
	b.WriteString("  SystemdCgroup = true\n")
	return b.String()
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
