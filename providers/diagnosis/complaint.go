package diagnosis

import (
	"slices"
	"strings"
)

// A complaint is an error that a kubelet or a runtime repeats while it runs, and that keeps the node
// or a pod from working.
type complaint struct {
	unit string // whose error it is; empty for all
	// words occur in the line, all of those in a row; of these rows one is enough.
	words   [][]string
	problem string
	// ofPod reports whether the pod that the line names has the problem, and not the unit.
	ofPod  bool
	remedy string
}

const (
	kubeletUnit = "kubelet.service"
	whenByHand  = "; an apply of kubewright undoes what was changed by hand"
)

// apiRequests begin the errors of a kubelet's requests to the API server.
var apiRequests = []string{"Failed to ensure lease exists", "Failed to update lease", "Error updating node status", "Unable to register node with API server"}

// toAPI are the words of a kubelet whose requests to the API server fail (Kubernetes 1.34 to 1.37).
func toAPI(why ...string) [][]string {
	var rows [][]string
	for _, request := range apiRequests {
		for _, w := range why {
			rows = append(rows, []string{request, w})
		}
	}
	return rows
}

// complaints are the known ones, the most specific first: a line is the first that fits.
var complaints = []complaint{
	{kubeletUnit, [][]string{{"couldn't parse as pod"}, {"invalid pod"}}, "cannot read a manifest of static pods, and does not run it", false, "correct the file that the line names" + whenByHand},
	{kubeletUnit, [][]string{{"Could not process manifest file"}, {"Could not get metadata"}, {"Unable to read config path"}, {"can't process config file"}}, "cannot read a manifest of static pods, and does not run it", false, "bring the file that the line names back, or remove it" + whenByHand},
	{kubeletUnit, [][]string{{"hostPath type check failed"}}, "does not start: the host lacks what it mounts", true, "bring the path that the line names to the host, or correct it in the manifest" + whenByHand},
	{kubeletUnit, [][]string{{"InvalidImageName"}}, "does not start: the name of its image is no valid one", true, "correct the image in the configuration" + whenByHand},
	{kubeletUnit, [][]string{{"ErrImagePull", "not found"}, {"ImagePullBackOff", "not found"}}, "does not start: the registry does not have its image", true, "correct name and tag of the image" + whenByHand},
	{kubeletUnit, [][]string{{"ErrImagePull"}, {"ImagePullBackOff"}, {"ErrImageNeverPull"}}, "does not start: its image cannot be pulled", true, "see that this host reaches the registry that the line names, or bring the image (crictl pull, ctr images import)"},
	{kubeletUnit, [][]string{{"failed to get sandbox image"}, {"failed to pull image", "pause"}}, "gets no sandbox: the runtime has no pause image", true, "bring the image that the line names, or correct sandbox in /etc/containerd/config.toml"},
	{kubeletUnit, [][]string{{"cni plugin not initialized"}, {"cni config uninitialized"}, {"NetworkPluginNotReady"}, {"NetworkReady=false"}}, "waits for a pod network: the runtime has found no usable network configuration", false, "install the network plugin, or correct its file in /etc/cni/net.d (journalctl -u containerd names what it refuses)"},
	{kubeletUnit, [][]string{{"failed to find plugin"}}, "cannot connect pods to the network: a CNI plugin is missing", false, "install the program that the line names into the folder of CNI plugins, /usr/lib/cni or /opt/cni/bin"},
	{kubeletUnit, [][]string{{"unable to start container process: exec:"}}, "does not start: its image lacks the command", true, "correct the command in the manifest" + whenByHand},
	{kubeletUnit, [][]string{{`exec: "runc"`}}, "cannot start containers: runc is missing", false, "install runc again, from the package or the artifacts of the container runtime"},
	{kubeletUnit, [][]string{{"snapshotter", "not found"}, {"snapshotter", "was not found"}}, "cannot make containers: the runtime lacks the snapshotter that its configuration names", false, "correct snapshotter in /etc/containerd/config.toml, and restart containerd"},
	{kubeletUnit, [][]string{{"container memory limit"}, {"OOM-killed"}, {"oom-kill"}}, "does not start: its memory limit is too low", true, "raise the limit of memory" + whenByHand},
	{kubeletUnit, [][]string{{"failed liveness probe"}, {"failed startup probe"}}, "is restarted again and again: it fails its probe", true, "see that the probe in the manifest asks the port and path that the component serves" + whenByHand},
	{kubeletUnit, [][]string{{"no space left on device"}}, "cannot write: a file system is full", false, "free space on the file system that the line names"},
	{kubeletUnit, [][]string{{"read-only file system"}}, "cannot write: a file system is mounted read-only", false, "see why with dmesg, and mount it for writing"},
	{kubeletUnit, [][]string{{"CreateContainerConfigError"}, {"CreateContainerError"}, {"RunContainerError"}}, "does not start: the runtime cannot make its container", true, ""},
	{kubeletUnit, [][]string{{"CreatePodSandboxError"}, {"CreatePodSandbox for pod failed"}}, "gets no sandbox: the runtime cannot make it", true, ""},
	{kubeletUnit, [][]string{{"Container runtime sanity check failed"}, {"Container runtime status is nil"}, {"container runtime is down"}}, "gets no answer of the container runtime", false, "see systemctl status containerd"},
	{kubeletUnit, toAPI("dial tcp: lookup", "no such host"), "cannot resolve the name of the API endpoint", false, "correct the name server of this host (/etc/resolv.conf, /etc/hosts), or the server in /etc/kubernetes/kubelet.conf" + whenByHand},
	{kubeletUnit, toAPI("certificate has expired or is not yet valid"), "does not accept the API server's certificate: it has expired", false, "renew it with kubewright apply; kubewright certificates lists all"},
	{kubeletUnit, toAPI("unknown authority", "x509"), "does not accept the API server's certificate", false, "compare /etc/kubernetes/pki/ca.crt and the CA in kubelet.conf with those of a control plane; kubewright plan shows what differs"},
	{kubeletUnit, toAPI("Unauthorized"), "is refused by the API server, which does not know its client certificate", false, "see whose CA has signed /var/lib/kubelet/pki/kubelet-client-current.pem (openssl x509 -issuer -enddate); kubewright apply -replace=NODE joins the node again"},
	{kubeletUnit, toAPI("failed calling webhook"), "is refused: an admission webhook does not answer, and its failurePolicy is Fail", false, "bring the webhook up, or delete its ValidatingWebhookConfiguration or MutatingWebhookConfiguration (kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations)"},
	{kubeletUnit, toAPI("denied the request", "is forbidden"), "is refused by the API server", false, "the line names what refuses it: a webhook, an admission plugin, or the Node authorizer, for which name and certificate have to be the node's"},
	{kubeletUnit, toAPI("connection refused"), "cannot reach the API server: nothing listens there", false, "see whether the API server runs (kubewright doctor of the control planes), and that the endpoint and its balancer are right"},
	{kubeletUnit, toAPI("no route to host", "network is unreachable", "invalid argument"), "has no route to the API server", false, "correct the routes of this host (ip route get ADDRESS)"},
	{kubeletUnit, toAPI("i/o timeout", "deadline exceeded", "Client.Timeout", "TLS handshake timeout", "context canceled"), "gets no answer of the API server", false, "see whether a firewall drops packets to port 6443 (nft list ruleset, iptables -S), the routes, and the MTU"},
}

// keepsNotReady reports whether a node with the complaint is not Ready, or soon is no more.
func (c complaint) keepsNotReady() bool {
	first := c.words[0][0]
	return slices.Contains(apiRequests, first) || first == "cni plugin not initialized" || first == "Container runtime sanity check failed"
}

// beforeStart reports whether a pod with the complaint has no container.
func (c complaint) beforeStart() bool {
	return strings.HasPrefix(c.problem, "does not start") || strings.HasPrefix(c.problem, "gets no sandbox")
}

// runs reports whether a container of a pod runs, whose name may have its namespace before it.
func (r Report) runs(pod string) bool {
	pod = pod[strings.LastIndex(pod, "/")+1:]
	return slices.ContainsFunc(r.Containers, func(c Container) bool { return c.Pod == pod && c.Running })
}

// fits reports whether a line is such a complaint.
func (c complaint) fits(line string) bool {
	return slices.ContainsFunc(c.words, func(row []string) bool { return all(line, row) })
}

// reported returns what the units that run complain of, beside the causes already found: a kubelet
// cannot reach an API server that does not run on the same host.
func (r Report) reported(found []Cause) []Cause {
	var out []Cause
	for _, u := range r.Units {
		if !u.Running() {
			continue
		}
		for _, line := range u.Errors {
			c, known := complaintOf(u.Name, line)
			if !known || strings.Contains(line, "/manifests/sed") {
				continue
			}
			if c.ofPod && c.beforeStart() && r.runs(podOf(line)) {
				continue // it has started since
			}
			cause := Cause{Subject: "unit " + u.Name, Problem: c.problem, Log: []string{Words(line)}, ToDo: c.remedy, NotReady: c.keepsNotReady()}
			if pod := podOf(line); c.ofPod && pod != "" {
				cause.Subject = "pod " + pod
			}
			twice := func(other Cause) bool { return other.Subject == cause.Subject && other.Problem == cause.Problem }
			if i := slices.IndexFunc(out, twice); i >= 0 {
				out[i].Log = cause.Log // the newer words
				continue
			}
			out = append(out, cause)
		}
	}
	return slices.DeleteFunc(out, func(c Cause) bool {
		return slices.ContainsFunc(found, func(f Cause) bool { return explains(f, c) })
	})
}

func complaintOf(unit, line string) (complaint, bool) {
	line = strings.ReplaceAll(line, `\`, "")
	for _, c := range complaints {
		if (c.unit == "" || c.unit == unit) && c.fits(line) {
			return c, true
		}
	}
	return complaint{}, false
}

// explains reports whether one cause makes another one superfluous: it is its consequence, or has
// the same words.
func explains(cause, of Cause) bool {
	downAPI := slices.ContainsFunc(needed, func(name string) bool {
		return strings.HasPrefix(cause.Subject, "container "+name+" ") || cause.Subject == "static pod "+name
	})
	switch {
	case downAPI && strings.Contains(of.Problem, "the API server"):
		return true
	case len(of.Log) > 0 && slices.Contains(cause.Log, of.Log[0]):
		return true
	}
	return false
}

var (
	klogHeader = lazy(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\] `)
	podKey     = lazy(`pod="(?:([^"/]+)/)?([^"]+)"|pod \\?"([^"\\]+)\\?"|in pod ([a-z0-9.-]+)_[a-z0-9-]+\(`)
)

// podOf returns the pod that a line of the kubelet is about.
func podOf(line string) string {
	m := podKey().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[2] + m[3] + m[4]
}

// Of the words of a long line the beginning and the end are kept, which has the reason.
const (
	wordsHead = 100
	wordsTail = 400
)

// Words returns a line of a log without its header, and without the backslashes of texts that were
// quoted several times.
func Words(line string) string {
	line = klogHeader().ReplaceAllString(line, "")
	line = strings.ReplaceAll(strings.ReplaceAll(line, `\`, ""), `""`, `"`)
	if len(line) > wordsHead+wordsTail {
		line = strings.ToValidUTF8(line[:wordsHead], "") + " … " + strings.ToValidUTF8(line[len(line)-wordsTail:], "")
	}
	return line
}
