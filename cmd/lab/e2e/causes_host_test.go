//go:build e2e

package e2e

// runtimeFailures returns what keeps a container runtime from making containers.
func runtimeFailures() []failure {
	return []failure{
		{
			"configuration is no TOML",
			`cp -p /etc/containerd/config.toml /root/kept; echo "[plugins" >>/etc/containerd/config.toml; systemctl restart containerd`,
			"mv /root/kept /etc/containerd/config.toml; systemctl reset-failed containerd; systemctl restart containerd",
			[]string{"failed to unmarshal TOML at row", "To do: correct /etc/containerd/config.toml"},
		},
		{
			"snapshotter is unknown",
			`cp -p /etc/containerd/config.toml /root/kept; printf "[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'nosuch'\n" >>/etc/containerd/config.toml; systemctl restart containerd`,
			"mv /root/kept /etc/containerd/config.toml; systemctl reset-failed containerd; systemctl restart containerd",
			[]string{"failed to find snapshotter", "nosuch", "To do: correct /etc/containerd/config.toml"},
		},
		{
			"CRI is disabled",
			`cp -p /etc/containerd/config.toml /root/kept; sed -i '1a disabled_plugins = ["io.containerd.grpc.v1.cri"]' /etc/containerd/config.toml; systemctl restart containerd`,
			"mv /root/kept /etc/containerd/config.toml; systemctl reset-failed containerd; systemctl restart containerd",
			[]string{"does not serve the CRI", "To do: correct /etc/containerd/config.toml"},
		},
		{
			"containerd is masked",
			"systemctl mask --now containerd; systemctl daemon-reload",
			"systemctl unmask containerd; systemctl daemon-reload; systemctl start containerd",
			[]string{"unit containerd.service is masked", "To do: systemctl unmask containerd.service"},
		},
		{
			"pause image is missing",
			`cp -p /etc/containerd/config.toml /root/kept; sed -i 's#sandbox = .*#sandbox = "127.0.0.1:5/pause:0"#' /etc/containerd/config.toml; systemctl restart containerd; crictl -r unix:///run/containerd/containerd.sock rmp -f $(crictl -r unix:///run/containerd/containerd.sock pods -q --name kube-proxy) >/dev/null 2>&1; true; systemctl restart containerd`,
			"mv /root/kept /etc/containerd/config.toml; systemctl reset-failed containerd; systemctl restart containerd",
			[]string{"127.0.0.1:5", "no pause image", "To do: bring the image"},
		},
	}
}

const (
	restartKubelet  = "systemctl restart kubelet"
	restartRuntime  = "systemctl restart containerd kubelet"
	kubeletSettings = "/var/lib/kubelet/config.yaml"
	crictl          = "crictl -r unix:///run/containerd/containerd.sock"
)

// changedSettings returns what a changed configuration file of the kubelet breaks.
func changedSettings(name, edit string, want ...string) failure {
	return failure{
		name, "cp -p " + kubeletSettings + " /root/kept; " + edit + "; " + restartKubelet,
		"mv /root/kept " + kubeletSettings + "; " + restartKubelet, want,
	}
}

// stoppedProcess returns what a process of a unit does not do after SIGSTOP.
func stoppedProcess(unit string, want ...string) failure {
	signal := func(name string) string {
		return "kill -" + name + " $(systemctl show -p MainPID --value " + unit + ")"
	}
	return failure{unit + " is stopped by a signal", signal("STOP"), signal("CONT"), want}
}

// frozenFailures returns what is there and does nothing, and what a pod network lacks.
func frozenFailures() []failure {
	return []failure{
		{
			"configuration of CNI is missing", "mkdir /root/cni; mv /etc/cni/net.d/* /root/cni",
			"mv /root/cni/* /etc/cni/net.d; rmdir /root/cni; " + restartRuntime,
			[]string{"cni plugin not initialized", "To do: install the network plugin"},
		},
		{
			"configuration of CNI is garbage", "cp -a /etc/cni/net.d /root/cni; for f in /etc/cni/net.d/*; do echo { >$f; done",
			"cp -a /root/cni/* /etc/cni/net.d; rm -r /root/cni; " + restartRuntime,
			[]string{"cni plugin not initialized", "correct its file in /etc/cni/net.d"},
		},
		stoppedProcess("kubelet", "unit kubelet.service does nothing", "(SIGSTOP)", "To do: systemctl kill --signal=CONT kubelet.service"),
		stoppedProcess("containerd", "unit containerd.service does nothing", "To do: systemctl kill --signal=CONT containerd.service"),
	}
}

// nodeFailures returns what is wrong with a node or its network.
func nodeFailures() []failure {
	return []failure{
		{
			"large packets to the API are dropped",
			"iptables -I OUTPUT -p tcp --dport 6443 -m length --length 1301:65535 -j DROP; " + restartKubelet,
			"iptables -D OUTPUT -p tcp --dport 6443 -m length --length 1301:65535 -j DROP; " + restartKubelet,
			[]string{"gets no answer of the API server", "and the MTU"},
		},
		{
			"no route to the API", "ip rule add pref 10 ipproto tcp dport 6443 unreachable; " + restartKubelet,
			"ip rule del pref 10; " + restartKubelet,
			[]string{"has no route to the API server", "network is unreachable", "To do: correct the routes"},
		},
		{
			"packets to the kubelet are dropped", "iptables -I INPUT -p tcp --dport 10250 -j DROP", "iptables -D INPUT -p tcp --dport 10250 -j DROP",
			[]string{"kubelet cannot be reached", "To do: open port 10250 of this host"},
		},
		{
			"host does not forward packets", "sysctl -w net.ipv4.ip_forward=0", "sysctl -w net.ipv4.ip_forward=1",
			[]string{"net.ipv4.ip_forward is 0", "To do: kubewright apply sets it"},
		},
		{
			"packets to the API are dropped",
			"iptables -I OUTPUT -p tcp --dport 6443 -j DROP",
			"iptables -D OUTPUT -p tcp --dport 6443 -j DROP",
			[]string{"no answer", "6443", "iptables -S"},
		},
	}
}
