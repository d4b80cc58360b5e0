package diagnosis

import (
	"slices"
	"strings"
)

// A complaint is an error that a kubelet repeats while it runs, and that keeps the node or a pod from
// working.
type complaint struct {
	// words occur in the line, all of those in a row; of these rows one is enough.
	words   [][]string
	problem string
	of      subject
	remedy  string
}

// A subject is what has the problem.
type subject int

const (
	// kubelet: the kubelet, whatever the API shows of its node.
	kubelet subject = iota
	// notReady: the kubelet, whose node is not Ready while it lasts.
	notReady
	// podStart: the pod that the line names, which has no container.
	podStart
	// podRuns: the pod that the line names, whose container may run.
	podRuns
)

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
	{[][]string{{"couldn't parse as pod"}, {"invalid pod"}}, "cannot read a manifest of static pods, and does not run it", kubelet, "correct the file that the line names" + whenByHand},
	{[][]string{{"Could not process manifest file"}, {"Could not get metadata"}, {"Unable to read config path"}, {"can't process config file"}}, "cannot read a manifest of static pods, and does not run it", kubelet, "bring the file that the line names back, or remove it" + whenByHand},
	{[][]string{{"hostPath type check failed"}}, "does not start: the host lacks what it mounts", podStart, "bring the path that the line names to the host, or correct it in the manifest" + whenByHand},
	{[][]string{{"InvalidImageName"}}, "does not start: the name of its image is no valid one", podStart, "correct the image in the configuration" + whenByHand},
	{[][]string{{"ErrImagePull", "not found"}, {"ImagePullBackOff", "not found"}}, "does not start: the registry does not have its image", podStart, "correct name and tag of the image" + whenByHand},
	{[][]string{{"ErrImagePull"}, {"ImagePullBackOff"}, {"ErrImageNeverPull"}}, "does not start: its image cannot be pulled", podStart, "see that this host reaches the registry that the line names, or bring the image (crictl pull, ctr images import)"},
	{[][]string{{"failed to get sandbox image"}, {"failed to pull image", "pause"}}, "gets no sandbox: the runtime has no pause image", podStart, "bring the image that the line names, or correct sandbox in /etc/containerd/config.toml"},
	{[][]string{{"cni plugin not initialized"}, {"cni config uninitialized"}, {"NetworkPluginNotReady"}, {"NetworkReady=false"}}, "waits for a pod network: the runtime has found no usable network configuration", notReady, "install the network plugin, or correct its file in /etc/cni/net.d (journalctl -u containerd names what it refuses)"},
	{[][]string{{"failed to find plugin"}}, "cannot connect pods to the network: a CNI plugin is missing", kubelet, "install the program that the line names into the folder of CNI plugins, /usr/lib/cni or /opt/cni/bin"},
	{[][]string{{"unable to start container process: exec:"}}, "does not start: its image lacks the command", podStart, "correct the command in the manifest" + whenByHand},
	{[][]string{{`exec: "runc"`}}, "cannot start containers: runc is missing", kubelet, "install runc again, from the package or the artifacts of the container runtime"},
	{[][]string{{"snapshotter", "not found"}, {"snapshotter", "was not found"}}, "cannot make containers: the runtime lacks the snapshotter that its configuration names", kubelet, "correct snapshotter in /etc/containerd/config.toml, and restart containerd"},
	{[][]string{{"container memory limit"}, {"OOM-killed"}, {"oom-kill"}}, "does not start: its memory limit is too low", podStart, "raise the limit of memory" + whenByHand},
	{[][]string{{"failed liveness probe"}, {"failed startup probe"}}, "is restarted again and again: it fails its probe", podRuns, "see that the probe in the manifest asks the port and path that the component serves" + whenByHand},
	{[][]string{{"no space left on device"}}, "cannot write: a file system is full", kubelet, "free space on the file system that the line names"},
	{[][]string{{"read-only file system"}}, "cannot write: a file system is mounted read-only", kubelet, "see why with dmesg, and mount it for writing"},
	{[][]string{{"CreateContainerConfigError"}, {"CreateContainerError"}, {"RunContainerError"}}, "does not start: the runtime cannot make its container", podStart, ""},
	{[][]string{{"CreatePodSandboxError"}, {"CreatePodSandbox for pod failed"}}, "gets no sandbox: the runtime cannot make it", podStart, ""},
	{[][]string{{"Container runtime sanity check failed"}, {"Container runtime status is nil"}, {"container runtime is down"}}, "gets no answer of the container runtime", notReady, "see systemctl status containerd"},
	{toAPI("dial tcp: lookup", "no such host"), "cannot resolve the name of the API endpoint", notReady, "correct the name server of this host (/etc/resolv.conf, /etc/hosts), or the server in /etc/kubernetes/kubelet.conf" + whenByHand},
	{toAPI("certificate has expired or is not yet valid"), "does not accept the API server's certificate: it has expired", notReady, "renew it with kubewright apply; kubewright certificates lists all"},
	{toAPI("unknown authority", "x509"), "does not accept the API server's certificate", notReady, "compare /etc/kubernetes/pki/ca.crt and the CA in kubelet.conf with those of a control plane; kubewright plan shows what differs"},
	{toAPI("Unauthorized"), "is refused by the API server, which does not know its client certificate", notReady, "see whose CA has signed /var/lib/kubelet/pki/kubelet-client-current.pem (openssl x509 -issuer -enddate); kubewright apply -replace=NODE joins the node again"},
	// That may keep the controller manager from its lease, so that the node stays Ready.
	{toAPI("failed calling webhook"), "is refused: an admission webhook does not answer, and its failurePolicy is Fail", kubelet, "bring the webhook up, or delete its ValidatingWebhookConfiguration or MutatingWebhookConfiguration (kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations)"},
	{toAPI("denied the request", "is forbidden"), "is refused by the API server", notReady, "the line names what refuses it: a webhook, an admission plugin, or the Node authorizer, for which name and certificate have to be the node's"},
	{toAPI("connection refused"), "cannot reach the API server: nothing listens there", notReady, "see whether the API server runs (kubewright doctor of the control planes), and that the endpoint and its balancer are right"},
	{toAPI("no route to host", "network is unreachable", "invalid argument"), "has no route to the API server", notReady, "correct the routes of this host (ip route get ADDRESS)"},
	{toAPI("i/o timeout", "deadline exceeded", "Client.Timeout", "TLS handshake timeout", "context canceled"), "gets no answer of the API server", notReady, "see whether a firewall drops packets to port 6443 (nft list ruleset, iptables -S), the routes, and the MTU"},
}

// runs reports whether a container of a pod runs.
func (r Report) runs(pod string) bool {
	return slices.ContainsFunc(r.Containers, func(c Container) bool { return c.Pod == pod && c.Running })
}

// fits reports whether a line is such a complaint.
func (c complaint) fits(line string) bool {
	return slices.ContainsFunc(c.words, func(row []string) bool { return all(line, row) })
}

// reported returns what a kubelet that runs complains of, beside the causes already found: it cannot
// reach an API server that does not run on the same host.
func (r Report) reported(found []Cause) []Cause {
	var out []Cause
	u := r.unit(kubeletUnit)
	if !u.Running() {
		return nil
	}
	for _, line := range u.Errors {
		c, known := complaintOf(line)
		pod := podOf(line)
		if !known || c.of == podStart && r.runs(pod) { // it has started since
			continue
		}
		cause := Cause{Subject: "unit " + u.Name, Problem: c.problem, Log: []string{Words(line)}, ToDo: c.remedy, NotReady: c.of == notReady}
		if pod != "" && (c.of == podStart || c.of == podRuns) {
			cause.Subject = "pod " + pod
		}
		twice := func(other Cause) bool { return other.Subject == cause.Subject && other.Problem == cause.Problem }
		if i := slices.IndexFunc(out, twice); i >= 0 {
			out[i].Log = cause.Log // the newer words
			continue
		}
		out = append(out, cause)
	}
	return slices.DeleteFunc(slices.Clone(out), func(c Cause) bool {
		ofPod := func(o Cause) bool { return o.Problem == c.Problem && o.Subject != c.Subject }
		if c.Subject == "unit "+u.Name && slices.ContainsFunc(out, ofPod) { // one line names the pod, the other does not
			return true
		}
		return slices.ContainsFunc(found, func(f Cause) bool { return explains(f, c) })
	})
}

func complaintOf(line string) (complaint, bool) {
	line = strings.ReplaceAll(line, `\`, "")
	for _, c := range complaints {
		if c.fits(line) {
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
