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
		changedManifest("scheduler: path of the host is missing", "kube-scheduler", "sed -i 's#path: /etc/kubernetes/scheduler.conf#path: /etc/kubernetes/none.conf#; s#type: FileOrCreate#type: File#' /root/new", "/etc/kubernetes/none.conf", "the host lacks what it mounts", "To do: bring the path"),
		changedManifest("scheduler: image lacks the command", "kube-scheduler", "sed -i 's#- kube-scheduler$#- kube-none#' /root/new", "kube-none", "To do: correct the command"),
		changedManifest("scheduler: image may not be pulled", "kube-scheduler", "sed -i 's#image: .*#image: registry.k8s.io/kube-scheduler:v0.0.0#; s#imagePullPolicy: .*#imagePullPolicy: Never#' /root/new", "ErrImageNeverPull", "image cannot be pulled"),
		changedManifest("controller manager: unknown flag", "kube-controller-manager", `sed -i 's#    - kube-controller-manager$#&\n    - --no-such-flag=1#' /root/new`, "unknown flag: --no-such-flag", "To do: remove the argument"),
		changedManifest("controller manager: invalid network", "kube-controller-manager", "sed -i 's#--cluster-cidr=.*#--cluster-cidr=10.244.0.0#' /root/new", "10.244.0.0"),
	}
}

// apiFailures returns what keeps an API server from running.
func apiFailures() []failure {
	const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	return []failure{
		changedManifest("API server: unknown flag", "kube-apiserver", `sed -i 's#    - kube-apiserver$#&\n    - --no-such-flag=1#' /root/new`, "unknown flag: --no-such-flag", "To do: remove the argument"),
		{
			"API server: listens elsewhere",
			newContainers("cp -p " + manifest + " /root/kept; sed -i 's#    - --advertise#    - --bind-address=127.0.0.1\\n&#' " + manifest),
			newContainers("rm " + manifest + "; mv /root/kept " + manifest),
			[]string{"runs, and does not serve at", "connection refused", "To do: correct bind-address"},
		},
		changedManifest("API server: file is missing", "kube-apiserver", `sed -i 's#    - kube-apiserver$#&\n    - --audit-policy-file=/etc/kubernetes/pki/none.yaml#' /root/new`, "none.yaml: no such file or directory", "To do: bring the file"),
	}
}

// admin is kubectl with an administrator's permissions, on a control plane.
const admin = "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system"

// changedObject returns what a changed object breaks whose pods have to start again for it.
func changedObject(name, object, edit, pods string, want ...string) failure {
	again := admin + " delete pod --wait=false -l " + pods
	return failure{
		name, admin + " get " + object + " -o yaml >/root/kept; sed '" + edit + "' /root/kept | " + admin + " replace -f -; " + again,
		"sed '/resourceVersion:/d' /root/kept | " + admin + " replace -f -; rm /root/kept; " + again + "; sleep 1; " + admin + " rollout status deployment/coredns --timeout=60s; systemctl restart kubelet", want,
	}
}

// down is a webhook that does not answer, for what kubelets write.
const down = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: down}
webhooks:
- name: down.example.test
  clientConfig: {service: {name: none, namespace: default}}
  rules: [{apiGroups: [coordination.k8s.io], apiVersions: ["*"], operations: ["*"], resources: [leases]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// addonFailures returns what is wrong with objects of the API.
func addonFailures() []failure {
	return []failure{
		{
			"node is cordoned", admin + " cordon cp1", admin + " uncordon cp1",
			[]string{"the node is cordoned", "To do: kubewright uncordon"},
		},
		{
			"webhook does not answer", "echo '" + down + "' | " + admin + " create -f -",
			admin + " delete validatingwebhookconfiguration down; systemctl restart kubelet",
			[]string{"failed calling webhook", "an admission webhook does not answer", "To do: bring the webhook up"},
		},
		changedObject("kube-proxy: mode is unknown", "configmap kube-proxy", "s/mode: .*/mode: none/", "k8s-app=kube-proxy", "container kube-proxy", "none", "To do: correct the kube_proxy block"),
		changedObject("CoreDNS: Corefile is wrong", "configmap coredns", "s/ errors$/ errorz/", "k8s-app=kube-dns", "container coredns", "errorz", "To do: correct the Corefile"),
		changedObject("kube-proxy: image cannot be pulled", "daemonset kube-proxy", "s#image: .*#image: 127.0.0.1:5/kube-proxy:v0#", "k8s-app=kube-proxy", "image cannot be pulled", "127.0.0.1:5", "To do: see that this host reaches the registry"),
	}
}

// etcdctl is a client with all permissions in the container of etcd.
const etcdctl = crictl + " exec $(" + crictl + " ps -q --name etcd) etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key"

// newContainers has a host stop the containers of etcd and the API server, and make those of the manifests as they
// are after an edit. A kubelet that runs would wait for the former ones, and for the API.
func newContainers(edit string) string {
	sandboxes := func(name string) string { return " $(" + crictl + " pods -q --name " + name + ")" }
	return "systemctl stop kubelet; " + edit + "; " + crictl + " rmp -f" + sandboxes("etcd") + sandboxes("kube-apiserver") + "; systemctl start kubelet"
}

// etcdFailures returns what keeps etcd from running, or from writing.
func etcdFailures() []failure {
	const manifest = "/etc/kubernetes/manifests/etcd.yaml"
	changed := func(name, edit string, want ...string) failure {
		return failure{
			name, newContainers("cp -p " + manifest + " /root/kept; " + edit + " " + manifest),
			newContainers("rm " + manifest + "; mv /root/kept " + manifest), want,
		}
	}
	full := changed("space of its quota is used", `sed -i 's#    - --name=#    - --quota-backend-bytes=100000\n&#'`, "has raised the alarm NOSPACE", "To do: etcd refuses writes", "raise quota-backend-bytes")
	full.undo += "; for i in $(seq 60); do " + etcdctl + " alarm disarm && break; sleep 1; done"
	return []failure{
		full,
		changed("address is not this host's", "sed -i 's#--listen-peer-urls=.*#--listen-peer-urls=https://192.0.2.1:2380#'", "container etcd of pod", "cannot assign requested address", "To do: correct the address"),
		changed("unknown flag", `sed -i 's#    - --name=#    - --no-such-flag=1\n&#'`, "container etcd of pod", "flag provided but not defined: -no-such-flag", "To do: remove the argument"),
		{
			"folder is read-only",
			newContainers("mount --bind /var/lib/etcd /var/lib/etcd; mount -o remount,bind,ro /var/lib/etcd"),
			newContainers("umount /var/lib/etcd"),
			[]string{"file system of /var/lib/etcd is mounted read-only", "To do: see why with dmesg"},
		},
	}
}
