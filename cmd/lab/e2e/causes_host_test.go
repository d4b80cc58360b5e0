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
			[]string{"127.0.0.1:5/pause:0", "no pause image"},
		},
	}
}

// nodeFailures returns what is wrong with a node or its network.
func nodeFailures() []failure {
	return []failure{
		{
			"packets to the API are dropped",
			"iptables -I OUTPUT -p tcp --dport 6443 -j DROP",
			"iptables -D OUTPUT -p tcp --dport 6443 -j DROP",
			[]string{"no answer", "6443", "iptables -S"},
		},
	}
}
