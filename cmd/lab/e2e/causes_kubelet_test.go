//go:build e2e

package e2e

import "slices"

// kubeletFailures returns what keeps a kubelet from running, or from the API.
func kubeletFailures() []failure {
	return slices.Concat(kubeletFailures1(), kubeletFailures2(), kubeletFailures3())
}

func kubeletFailures1() []failure {
	return []failure{
		{
			"setting that is refused",
			`cp -p /var/lib/kubelet/config.yaml /root/kept; echo "evictionHard: {memory.available: x}" >>/var/lib/kubelet/config.yaml; systemctl restart kubelet`,
			"mv /root/kept /var/lib/kubelet/config.yaml; systemctl restart kubelet",
			[]string{"quantities must match", "To do: correct the setting in the kubelet block"},
		},
		{
			"feature gate is unknown",
			`cp -p /var/lib/kubelet/config.yaml /root/kept; echo "featureGates: {NoSuchGate: true}" >>/var/lib/kubelet/config.yaml; systemctl restart kubelet`,
			"mv /root/kept /var/lib/kubelet/config.yaml; systemctl restart kubelet",
			[]string{"NoSuchGate", "To do: remove the feature gate"},
		},
		{
			"wrong socket of the runtime",
			"cp -p /var/lib/kubelet/config.yaml /root/kept; cp -p /var/lib/kubelet/instance-config.yaml /root/kept2; sed -i s#containerd/containerd.sock#none.sock# /var/lib/kubelet/config.yaml /var/lib/kubelet/instance-config.yaml; systemctl restart kubelet",
			"mv /root/kept /var/lib/kubelet/config.yaml; mv /root/kept2 /var/lib/kubelet/instance-config.yaml; systemctl restart kubelet",
			[]string{"dial unix", "none.sock", "To do: start the container runtime"},
		},
		{
			"client certificate of another CA",
			"mv /var/lib/kubelet/pki/kubelet-client-current.pem /root/kept; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /O=system:nodes/CN=system:node:w1 -days 9 -keyout /root/own.key -out /root/own.crt 2>/dev/null; cat /root/own.crt /root/own.key >/var/lib/kubelet/pki/kubelet-client-current.pem; systemctl restart kubelet",
			"rm /var/lib/kubelet/pki/kubelet-client-current.pem; mv /root/kept /var/lib/kubelet/pki/kubelet-client-current.pem; systemctl restart kubelet",
			[]string{"Unauthorized", "which does not know its client certificate", "To do: see whose CA has signed"},
		},
		{
			"wrong port of the API",
			"cp -p /etc/kubernetes/kubelet.conf /root/kept; sed -i s/:6443/:6444/ /etc/kubernetes/kubelet.conf; systemctl restart kubelet",
			"mv /root/kept /etc/kubernetes/kubelet.conf; systemctl restart kubelet",
			[]string{"6444: connect: connection refused", "cannot reach the API server", "To do: see whether the API server runs"},
		},
		{
			"name of the endpoint does not resolve",
			`cp -p /etc/kubernetes/kubelet.conf /root/kept; sed -i s/https:..api/https:\\/\\/none/ /etc/kubernetes/kubelet.conf; systemctl restart kubelet`,
			"mv /root/kept /etc/kubernetes/kubelet.conf; systemctl restart kubelet",
			[]string{"cannot resolve the name of the API endpoint", "To do: correct the name server"},
		},
		{
			"kubeconfig is garbage",
			`cp -p /etc/kubernetes/kubelet.conf /root/kept; echo "{" >/etc/kubernetes/kubelet.conf; systemctl restart kubelet`,
			"mv /root/kept /etc/kubernetes/kubelet.conf; systemctl restart kubelet",
			[]string{"error loading config file", "kubelet.conf", "is no kubeconfig: bring it back"},
		},
		{
			"swap is on",
			`printf 'Filename Type Size Used Priority\n/dev/vdb partition 1048572 0 -2\n' >/root/swaps; mount --bind /root/swaps /proc/swaps; systemctl restart kubelet`,
			"umount /proc/swaps; systemctl restart kubelet",
			[]string{"running with swap on is not supported", "To do: turn swap off"},
		},
		{
			"folder is read-only",
			"mount --bind /var/lib/kubelet /var/lib/kubelet; mount -o remount,bind,ro /var/lib/kubelet; systemctl restart kubelet",
			"umount /var/lib/kubelet; systemctl restart kubelet",
			[]string{"file system of /var/lib/kubelet is mounted read-only", "To do: see why with dmesg"},
		},
		{
			"disk is full",
			"systemctl stop kubelet; mkdir -p /root/full; mount -t tmpfs -o size=256k tmpfs /root/full; cp -a /var/lib/kubelet/*.yaml /var/lib/kubelet/*.env /var/lib/kubelet/pki /root/full; mount --bind /root/full /var/lib/kubelet; cat /dev/zero >/var/lib/kubelet/filled 2>/dev/null; systemctl start kubelet",
			"systemctl stop kubelet; umount /var/lib/kubelet; umount /root/full; systemctl start kubelet",
			[]string{"file system of /var/lib/kubelet is full", "To do: free space"},
		},
		{
			"unit is masked",
			"systemctl mask --now kubelet; systemctl daemon-reload",
			"systemctl unmask kubelet; systemctl daemon-reload; systemctl start kubelet",
			[]string{"unit kubelet.service is masked", "To do: systemctl unmask kubelet.service"},
		},
		{
			"unit is disabled",
			"systemctl disable kubelet",
			"systemctl enable kubelet",
			[]string{"unit kubelet.service is disabled", "To do: systemctl enable kubelet.service"},
		},
	}
}

func kubeletFailures2() []failure {
	return []failure{
		{
			"drop-in names another program",
			`mkdir -p /etc/systemd/system/kubelet.service.d; printf "[Service]\nExecStart=\nExecStart=/usr/local/bin/kubelet-none\n" >/etc/systemd/system/kubelet.service.d/99-own.conf; systemctl daemon-reload; systemctl restart kubelet`,
			"rm -r /etc/systemd/system/kubelet.service.d; systemctl daemon-reload; systemctl reset-failed kubelet; systemctl restart kubelet",
			[]string{"exit code 203", "kubelet-none: No such file or directory", "To do: install the program that the line names"},
		},
		{
			"drop-in fails before the start",
			`mkdir -p /etc/systemd/system/kubelet.service.d; printf "[Service]\nExecStartPre=/bin/false\n" >/etc/systemd/system/kubelet.service.d/99-own.conf; systemctl daemon-reload; systemctl restart kubelet`,
			"rm -r /etc/systemd/system/kubelet.service.d; systemctl daemon-reload; systemctl reset-failed kubelet; systemctl restart kubelet",
			[]string{"unit kubelet.service", "exit-code"},
		},
		{
			"flag is unknown",
			"cp -p /var/lib/kubelet/kubeadm-flags.env /root/kept; echo KUBELET_KUBEADM_ARGS=--no-such-flag >/var/lib/kubelet/kubeadm-flags.env; systemctl restart kubelet",
			"mv /root/kept /var/lib/kubelet/kubeadm-flags.env; systemctl restart kubelet",
			[]string{"unknown flag: --no-such-flag", "To do: remove the argument"},
		},
		{
			"CA is missing",
			"mv /etc/kubernetes/pki/ca.crt /root/kept; systemctl restart kubelet",
			"mv /root/kept /etc/kubernetes/pki/ca.crt; systemctl restart kubelet",
			[]string{"open /etc/kubernetes/pki/ca.crt: no such file", "To do: bring the file"},
		},
	}
}

func kubeletFailures3() []failure {
	return []failure{
		{
			"name of another node",
			`cp -p /var/lib/kubelet/kubeadm-flags.env /root/kept; sed -i 's/ARGS="/&--hostname-override=other /' /var/lib/kubelet/kubeadm-flags.env; systemctl restart kubelet`,
			"mv /root/kept /var/lib/kubelet/kubeadm-flags.env; systemctl restart kubelet",
			[]string{`"other" is forbidden`, "is refused by the API server", "name and certificate have to be the node's"},
		},
		{
			"too few files may be open",
			`mkdir -p /etc/systemd/system/kubelet.service.d; printf "[Service]\nLimitNOFILE=16\n" >/etc/systemd/system/kubelet.service.d/99-own.conf; systemctl daemon-reload; systemctl restart kubelet`,
			"rm -r /etc/systemd/system/kubelet.service.d; systemctl daemon-reload; systemctl reset-failed kubelet; systemctl restart kubelet",
			[]string{"too many open files", "To do: raise LimitNOFILE of the unit"},
		},
		changedSettings("port is taken", "echo 'port: 22' >>"+kubeletSettings, "22: bind: address already in use", "To do: end the process that has the port"),
		changedSettings("more is reserved than there is", "echo 'systemReserved: {memory: 999Gi}' >>"+kubeletSettings, "has a reservation of", "To do: lower systemReserved"),
	}
}
