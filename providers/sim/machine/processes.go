package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner/skew"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// KubeletProcess is a kubelet's process. It exists while the unit is active.
type KubeletProcess struct {
	// Config and Flags are digests of what it read when it started.
	Config string `json:"config,omitempty"`
	Flags  string `json:"flags,omitempty"`
	// Started is when it last came up.
	Started time.Time `json:"started"`
	// Up reports whether it runs and has not exited.
	Up bool `json:"up,omitempty"`
	// Trusts are the CAs in the kubeconfig that it read at its start.
	Trusts []state.CertificateInfo `json:"trusted,omitempty"`
	// Node and Cluster are its registration since it started.
	Node    string `json:"node,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// StaticPod is a running static pod.
type StaticPod struct {
	// Manifest is the digest of the file from which it was started.
	Manifest string    `json:"manifest"`
	Path     string    `json:"path,omitempty"` // its path, if not kubeadm's
	Started  time.Time `json:"started"`
	// Conf is the kubeconfig that a component read at its start.
	Conf *file.Record `json:"conf,omitempty"`
	// Trusts are the CAs that it read at its start, by flag.
	Trusts map[string][]string `json:"trusts,omitempty"`
	// Encryption are the providers of each resource that an API server has loaded, Plugins are the
	// sockets of those that are KMS plugins, EncryptionFile is the digest of the file, and Looked is
	// when it last compared the two.
	Encryption     map[string][]string `json:"encryption,omitempty"`
	Plugins        []string            `json:"plugins,omitempty"`
	EncryptionFile string              `json:"encryption_file,omitempty"`
	Looked         time.Time           `json:"looked,omitzero"`
	// Exited is why it has exited; empty while it runs.
	Exited string `json:"exited,omitempty"`
	// Failing is since when it has exited at each start; zero while it runs.
	Failing time.Time `json:"failing,omitzero"`
	// Published reports whether an etcd has had a quorum since its start.
	Published bool `json:"published,omitempty"`
}

// Processes are the processes of a machine: its kubelet and the containers of static pods.
type Processes struct{ m *Machine }

// Processes returns the machine's processes.
func (m *Machine) Processes() Processes { return Processes{m} }

// setKubelet starts or stops the kubelet's process with its unit.
func (r Processes) setKubelet(on bool) {
	r.m.Kubelet = nil
	if on {
		r.m.Kubelet = &KubeletProcess{}
		r.m.CountChange("start kubelet")
	}
	r.m.Wake()
}

// ServesCRI reports whether containerd serves the CRI.
func (r Processes) ServesCRI() bool {
	return !r.m.Conditions.CRIDisabled || r.m.Files["/etc/containerd/config.toml"] != nil
}

// KubeletConfig returns the configuration that a running kubelet has read.
func (r Processes) KubeletConfig() state.Value { return r.m.fleet.Config(r.m.Kubelet.Config).Tree }

// KubeletFlag returns the value of one of the flags that a running kubelet was given.
func (r Processes) KubeletFlag(name string) string {
	return staticpod.FlagIn([]byte(r.m.fleet.Blobs[r.m.Kubelet.Flags]), name)
}

// KubeletRuns reports whether a kubelet is up.
func (r Processes) KubeletRuns() bool {
	return !r.m.Off && r.m.Kubelet != nil && r.m.Kubelet.Up && r.m.Systemd().Active("kubelet")
}

// NodeName returns the name under which the kubelet registers.
func (r Processes) NodeName() string {
	if name := r.KubeletFlag("hostname-override"); name != "" {
		return name
	}
	return r.m.Name()
}

// Pod returns the running pod of a component, or nil.
func (r Processes) Pod(component string) (*StaticPod, *staticpod.Manifest) {
	if r.m.Off {
		return nil, nil
	}
	found := "" // the first by name
	for name, p := range r.m.Pods {
		if (found == "" || name < found) && r.m.fleet.Manifest(p.Manifest).Component() == component {
			found = name
		}
	}
	if found == "" {
		return nil, nil
	}
	return r.m.Pods[found], r.m.fleet.Manifest(r.m.Pods[found].Manifest)
}

// PodFault returns why the container of a component does not answer, or nil: it does not
// run, is starting, or has exited.
func (r Processes) PodFault(component string) error {
	running, _ := r.Pod(component)
	switch {
	case running == nil:
		return errors.New("connection refused")
	case r.m.fleet.Now.Before(running.Started.Add(staticpod.StartupTime(component))):
		return errors.New("connection refused: " + component + " is starting")
	case running.Exited != "":
		return fmt.Errorf("%s exits: %s", component, running.Exited)
	}
	return nil
}

// Listens reports whether a program listens on a TCP port of the machine.
func (r Processes) Listens(port int) bool {
	switch {
	case r.m.Off:
		return false
	case port == 22 || slices.Contains(r.m.Conditions.Ports, port):
		return true
	case port == 10250, port == r.healthPort():
		return r.KubeletRuns()
	}
	for _, component := range []string{staticpod.Etcd, staticpod.APIServer, staticpod.ControllerManager, staticpod.Scheduler} {
		if _, p := r.Pod(component); p != nil && slices.Contains(staticpod.Ports(component, p), port) {
			return true
		}
	}
	return false
}

// healthPort returns the port of a running kubelet's health endpoint; -1 if there is none.
func (r Processes) healthPort() int {
	if r.m.Kubelet == nil {
		return -1
	}
	if p := r.KubeletConfig().Get("healthzPort"); p.AsString() == "0" {
		return -1
	} else if !p.IsNull() {
		return staticpod.Number(p.AsString())
	}
	return 10248
}

// Version returns the version of a component that runs on a host; false if it does not run,
// or if its image's tag is not a version.
func (r Processes) Version(component string) (skew.Release, bool) {
	_, p := r.Pod(component)
	if p == nil {
		return skew.Release{}, false
	}
	return skew.ParseRelease(p.Tag())
}

// CheckSkew returns an error for a component with a newer minor version than the API server
// here, of which it is a client. Most real ones work, but some do not: the kubelet 1.31
// started no pods with an API server 1.30 (kubernetes/kubernetes#127316).
func (r Processes) CheckSkew(name string, component skew.Release) error {
	api, known := r.Version(staticpod.APIServer)
	if known && component.Minor > api.Minor {
		return fmt.Errorf("%s %s is newer than API server %s", name, component, api)
	}
	return nil
}

// RestartPods restarts the static pods whose hash differs between two kubelet versions.
func (r Processes) RestartPods(node, before, after string) {
	if before == after {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.m.Pods)) {
		p := r.m.Pods[name]
		if r.m.fleet.PodHash(p, name, node, before) != r.m.fleet.PodHash(p, name, node, after) {
			r.m.CountChange("start " + name)
			p.Started = r.m.fleet.Now
		}
	}
}

// ComponentAt returns the component that listens on a port; through a load balancer that is
// an API server.
func (r Processes) ComponentAt(port int, balanced bool) string {
	if r.KubeletRuns() && (port == r.healthPort() || port == 10250) && !balanced {
		return "kubelet"
	}
	for _, component := range []string{staticpod.APIServer, staticpod.ControllerManager, staticpod.Scheduler, staticpod.Etcd} {
		_, p := r.Pod(component)
		switch {
		case p == nil:
		case balanced && component == staticpod.APIServer:
			return component
		case !balanced && slices.Contains(staticpod.Ports(component, p), port):
			return component
		}
	}
	return ""
}

// Listening reports whether a component has started and listens.
func (r Processes) Listening(component string) bool {
	running, _ := r.Pod(component)
	return running != nil && running.Exited == "" && !r.m.fleet.Now.Before(running.Started.Add(staticpod.StartupTime(component)))
}

// RefusesProbes reports whether a component refuses requests without credentials, such as
// those of probes.
func (r Processes) RefusesProbes(component string) bool {
	_, p := r.Pod(component)
	if component != staticpod.APIServer || p == nil {
		return false
	}
	anonymous, err := strconv.ParseBool(p.Flag("anonymous-auth", "true"))
	return err == nil && !anonymous
}

// Process returns the pod that runs a process, or nil.
func (r Processes) Process(p state.Process) *StaticPod {
	running, manifest := r.Pod(p.Name)
	if running == nil || !slices.ContainsFunc(manifest.Args, func(a string) bool { return strings.Contains(a, p.Argument) }) {
		return nil
	}
	return running
}
