//go:build e2e

package e2e

import "slices"

// podFailures returns what keeps the controller manager and the scheduler from running.
func podFailures() []failure {
	return slices.Concat(podFailures1(), podFailures2())
}

func podFailures1() []failure {
	return []failure{
		{
			"scheduler: unknown flag",
			`cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#    - kube-scheduler$#&\n    - --no-such-flag=1#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"container kube-scheduler", "unknown flag: --no-such-flag", "To do: remove the argument"},
		},
		{
			"scheduler: file is missing",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#--kubeconfig=.*#--kubeconfig=/etc/kubernetes/none.conf#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"none.conf: no such file or directory", "To do: bring the file"},
		},
		{
			"scheduler: wrong value",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's/--leader-elect=true/--leader-elect=perhaps/' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{`invalid argument "perhaps"`, "To do: correct the argument's value"},
		},
		{
			"scheduler: port is taken",
			`cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#    - kube-scheduler$#&\n    - --secure-port=10257#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"10257: bind: address already in use", "To do: end the process that has the port"},
		},
		{
			"scheduler: name of the image is invalid",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#image: .*#image: Registry.K8s.io:::bad#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"Registry.K8s.io:::bad", "invalid", "To do: correct the image"},
		},
		{
			"scheduler: image cannot be pulled",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#image: .*#image: 127.0.0.1:5/kube-scheduler:v1.36.3#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"image cannot be pulled", "127.0.0.1:5", "To do: see that this host reaches the registry"},
		},
		{
			"scheduler: manifest is no YAML",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's/^spec:/spec: {/' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"couldn't parse as pod", "kube-scheduler.yaml", "To do: correct the file"},
		},
		{
			"scheduler: manifest of an unknown kind",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's/^kind: Pod/kind: Pot/' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{`no kind "Pot" is registered`, "To do: correct the file"},
		},
		{
			"scheduler: manifest is a dangling link",
			"cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; rm /root/new; ln -s /root/none.yaml /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"kube-scheduler.yaml", "no such file or directory", "To do: bring the file"},
		},
		{
			"scheduler: memory limit is too low",
			`cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's/    resources:/    resources:\n      limits: {memory: 12Mi}/' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"exited with code 137", "memory"},
		},
		{
			"scheduler: command ends",
			`cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; sed -i 's#    - kube-scheduler$#&\n    - --version#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"exited with code 0", "To do: a component does not end by itself"},
		},
		{
			"scheduler: kubeconfig is garbage",
			`cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-scheduler.yaml /root/new; cp -p /etc/kubernetes/scheduler.conf /root/kept2; echo "{" >/etc/kubernetes/scheduler.conf; sed -i 's#    - kube-scheduler$#&\n    - --v=1#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-scheduler.yaml`,
			"mv /root/kept2 /etc/kubernetes/scheduler.conf; rm -rf /etc/kubernetes/manifests/kube-scheduler.yaml; mv /root/kept /etc/kubernetes/manifests/kube-scheduler.yaml; systemctl restart kubelet",
			[]string{"error loading config file"},
		},
	}
}

func podFailures2() []failure {
	return []failure{
		{
			"controller manager: unknown flag",
			`cp -p /etc/kubernetes/manifests/kube-controller-manager.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-controller-manager.yaml /root/new; sed -i 's#    - kube-controller-manager$#&\n    - --no-such-flag=1#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-controller-manager.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-controller-manager.yaml; mv /root/kept /etc/kubernetes/manifests/kube-controller-manager.yaml; systemctl restart kubelet",
			[]string{"unknown flag: --no-such-flag", "To do: remove the argument"},
		},
		{
			"controller manager: invalid network",
			"cp -p /etc/kubernetes/manifests/kube-controller-manager.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-controller-manager.yaml /root/new; sed -i 's#--cluster-cidr=.*#--cluster-cidr=10.244.0.0#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-controller-manager.yaml",
			"rm -rf /etc/kubernetes/manifests/kube-controller-manager.yaml; mv /root/kept /etc/kubernetes/manifests/kube-controller-manager.yaml; systemctl restart kubelet",
			[]string{"10.244.0.0"},
		},
	}
}

// apiFailures returns what keeps an API server from running.
func apiFailures() []failure {
	return []failure{
		{
			"API server: unknown flag",
			`cp -p /etc/kubernetes/manifests/kube-apiserver.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-apiserver.yaml /root/new; sed -i 's#    - kube-apiserver$#&\n    - --no-such-flag=1#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-apiserver.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-apiserver.yaml; mv /root/kept /etc/kubernetes/manifests/kube-apiserver.yaml; systemctl restart kubelet",
			[]string{"unknown flag: --no-such-flag", "To do: remove the argument"},
		},
		{
			"API server: file is missing",
			`cp -p /etc/kubernetes/manifests/kube-apiserver.yaml /root/kept; cp -p /etc/kubernetes/manifests/kube-apiserver.yaml /root/new; sed -i 's#    - kube-apiserver$#&\n    - --audit-policy-file=/etc/kubernetes/pki/none.yaml#' /root/new; mv /root/new /etc/kubernetes/manifests/kube-apiserver.yaml`,
			"rm -rf /etc/kubernetes/manifests/kube-apiserver.yaml; mv /root/kept /etc/kubernetes/manifests/kube-apiserver.yaml; systemctl restart kubelet",
			[]string{"none.yaml: no such file or directory", "To do: bring the file"},
		},
	}
}
