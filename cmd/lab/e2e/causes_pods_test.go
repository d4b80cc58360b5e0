//go:build e2e

package e2e

// changedManifest returns what a changed manifest of a static pod breaks. The shell of edit changes its copy,
// /root/new; the former one comes back.
func changedManifest(name, component, edit string, want ...string) failure {
	manifest := "/etc/kubernetes/manifests/" + component + ".yaml"
	return failure{
		name,
		"cp -p " + manifest + " /root/kept; cp -p " + manifest + " /root/new; " + edit + "; mv /root/new " + manifest,
		"rm -rf " + manifest + "; mv /root/kept " + manifest + "; systemctl restart kubelet",
		want,
	}
}

// podFailures returns what keeps the controller manager and the scheduler from running.
func podFailures() []failure {
	garbage := changedManifest("scheduler: kubeconfig is garbage", "kube-scheduler", `cp -p /etc/kubernetes/scheduler.conf /root/kept2; echo "{" >/etc/kubernetes/scheduler.conf; sed -i 's#    - kube-scheduler$#&\n    - --v=1#' /root/new`, "error loading config file")
	garbage.undo = "mv /root/kept2 /etc/kubernetes/scheduler.conf; " + garbage.undo
	return []failure{
		changedManifest("scheduler: unknown flag", "kube-scheduler", `sed -i 's#    - kube-scheduler$#&\n    - --no-such-flag=1#' /root/new`, "container kube-scheduler", "unknown flag: --no-such-flag", "To do: remove the argument"),
		changedManifest("scheduler: file is missing", "kube-scheduler", "sed -i 's#--kubeconfig=.*#--kubeconfig=/etc/kubernetes/none.conf#' /root/new", "none.conf: no such file or directory", "To do: bring the file"),
		changedManifest("scheduler: wrong value", "kube-scheduler", "sed -i 's/--leader-elect=true/--leader-elect=perhaps/' /root/new", `invalid argument "perhaps"`, "To do: correct the argument's value"),
		changedManifest("scheduler: port is taken", "kube-scheduler", `sed -i 's#    - kube-scheduler$#&\n    - --secure-port=10257#' /root/new`, "10257: bind: address already in use", "To do: end the process that has the port"),
		changedManifest("scheduler: name of the image is invalid", "kube-scheduler", "sed -i 's#image: .*#image: Registry.K8s.io:::bad#' /root/new", "Registry.K8s.io:::bad", "invalid", "To do: correct the image"),
		changedManifest("scheduler: image cannot be pulled", "kube-scheduler", "sed -i 's#image: .*#image: 127.0.0.1:5/kube-scheduler:v1.36.3#' /root/new", "image cannot be pulled", "127.0.0.1:5", "To do: see that this host reaches the registry"),
		changedManifest("scheduler: manifest is no YAML", "kube-scheduler", "sed -i 's/^spec:/spec: {/' /root/new", "couldn't parse as pod", "kube-scheduler.yaml", "To do: correct the file"),
		changedManifest("scheduler: manifest of an unknown kind", "kube-scheduler", "sed -i 's/^kind: Pod/kind: Pot/' /root/new", `no kind "Pot" is registered`, "To do: correct the file"),
		changedManifest("scheduler: manifest is a dangling link", "kube-scheduler", "rm /root/new; ln -s /root/none.yaml /root/new", "kube-scheduler.yaml", "no such file or directory", "To do: bring the file"),
		changedManifest("scheduler: memory limit is too low", "kube-scheduler", `sed -i 's/    resources:/    resources:\n      limits: {memory: 12Mi}/' /root/new`, "exited with code 137", "memory"),
		changedManifest("scheduler: command ends", "kube-scheduler", `sed -i 's#    - kube-scheduler$#&\n    - --version#' /root/new`, "exited with code 0", "To do: a component does not end by itself"),
		garbage,
		changedManifest("controller manager: unknown flag", "kube-controller-manager", `sed -i 's#    - kube-controller-manager$#&\n    - --no-such-flag=1#' /root/new`, "unknown flag: --no-such-flag", "To do: remove the argument"),
		changedManifest("controller manager: invalid network", "kube-controller-manager", "sed -i 's#--cluster-cidr=.*#--cluster-cidr=10.244.0.0#' /root/new", "10.244.0.0"),
	}
}

// apiFailures returns what keeps an API server from running.
func apiFailures() []failure {
	return []failure{
		changedManifest("API server: unknown flag", "kube-apiserver", `sed -i 's#    - kube-apiserver$#&\n    - --no-such-flag=1#' /root/new`, "unknown flag: --no-such-flag", "To do: remove the argument"),
		changedManifest("API server: file is missing", "kube-apiserver", `sed -i 's#    - kube-apiserver$#&\n    - --audit-policy-file=/etc/kubernetes/pki/none.yaml#' /root/new`, "none.yaml: no such file or directory", "To do: bring the file"),
	}
}
