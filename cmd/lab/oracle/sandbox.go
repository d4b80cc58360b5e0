package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm/kubeadmtest"
)

// sandboxArg marks the process that runs in the empty root.
const sandboxArg = "sandbox"

// prepareRoot copies into an empty folder what kubeadm needs: itself, and this program as
// systemctl.
func prepareRoot(root, kubeadm string) error {
	for _, dir := range []string{"bin", "etc", "proc", "dev", "tmp", "var/lib", "results"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for from, to := range map[string]string{kubeadm: "bin/kubeadm", self: "bin/systemctl"} {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if bytes.Contains(content[:min(len(content), 4096)], []byte("ld-linux")) {
			return fmt.Errorf("%s is linked dynamically and cannot run in an empty root; build with CGO_ENABLED=0", from)
		}
		if err := os.WriteFile(filepath.Join(root, to), content, 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "dev/null"), nil, 0o666)
}

// startSandbox runs this program again with its own network, host name and mounts.
func startSandbox(root, version, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, sandboxArg, root, version, name)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, output.Bytes())
	}
	return nil
}

// sandbox is one running case.
type sandbox struct {
	kubeadmtest.Case
	api *api
}

// runSandbox is the main function of the second process.
func runSandbox(args []string) error {
	root, version, name := args[0], args[1], args[2]
	cases := kubeadmtest.Cases()
	i := slices.IndexFunc(cases, func(c kubeadmtest.Case) bool { return c.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no case %q", name)
	}
	c, _ := cases[i].At(version)
	s := &sandbox{Case: c}
	if err := s.network(); err != nil {
		return err
	}
	if err := enter(root); err != nil {
		return err
	}
	s.api = newAPI(c.Founder.Name())
	if err := s.api.listen(s.apiAddresses()); err != nil {
		return err
	}
	if err := s.found(); err != nil {
		return err
	}
	if s.Joiner != nil {
		return s.join()
	}
	return nil
}

// network adds every address of the case to the loopback interface.
func (s *sandbox) network() error {
	commands := [][]string{{"link", "set", "lo", "up"}}
	for _, h := range s.hosts() {
		for _, a := range h.Node.AdvertiseAddresses {
			add := []string{"addr", "add", a + "/32", "dev", "lo"}
			if strings.Contains(a, ":") {
				add = []string{"addr", "add", a + "/128", "dev", "lo", "nodad"}
			}
			commands = append(commands, add)
		}
	}
	for _, c := range commands {
		if out, err := exec.Command("ip", c...).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot set up the network: ip %s: %s", strings.Join(c, " "), out)
		}
	}
	return nil
}

func (s *sandbox) hosts() []kubeadmtest.Host {
	hosts := []kubeadmtest.Host{s.Founder}
	if s.Joiner != nil {
		hosts = append(hosts, *s.Joiner)
	}
	return hosts
}

// apiAddresses returns the addresses at which kubeadm may expect the API.
func (s *sandbox) apiAddresses() []string {
	var out []string
	port := s.Cluster.BindPort
	for _, h := range s.hosts() {
		if h.Node.Role == config.ControlPlane {
			out = append(out, net.JoinHostPort(h.Node.AdvertiseAddress(), fmt.Sprint(port)))
		}
	}
	if _, p, err := net.SplitHostPort(s.Cluster.ControlPlaneEndpoint); err == nil && p != fmt.Sprint(port) {
		out = append(out, net.JoinHostPort(s.Founder.Node.AdvertiseAddress(), p))
	}
	return out
}

// enter makes root the root of this process.
func enter(root string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""); err != nil {
		return err
	}
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	return os.Chdir("/")
}

// become turns the sandbox into one host.
func (s *sandbox) become(h kubeadmtest.Host) error {
	if err := syscall.Sethostname([]byte(h.Facts.Hostname)); err != nil {
		return err
	}
	for _, dir := range s.Founder.Facts.CADirs {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, dir := range h.Facts.CADirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	hosts := "127.0.0.1 localhost\n"
	if host, _, _ := strings.Cut(s.Cluster.ControlPlaneEndpoint, ":"); host != "" && net.ParseIP(host) == nil {
		hosts += s.Founder.Node.AdvertiseAddress() + " " + host + "\n"
	}
	files := map[string]string{"/etc/hosts": hosts, resolvedMark: fmt.Sprint(h.Facts.SystemdResolved)}
	for name, content := range s.Patches(h) {
		files["/patches/"+name] = content
	}
	return writeFiles(files)
}

func writeFiles(files map[string]string) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// found runs kubeadm init, without the phases that inspect the host or wait for components.
func (s *sandbox) found() error {
	if err := s.become(s.Founder); err != nil {
		return err
	}
	skipped := []string{"preflight", "wait-control-plane", "show-join-command"}
	if err := s.certificates(&skipped); err != nil {
		return err
	}
	flags := []string{"--config", "/init.yaml"}
	if s.Cluster.UploadCerts {
		flags = append(flags, "--upload-certs")
	}
	if err := writeFiles(map[string]string{"/init.yaml": string(s.InitYAML(skipped...))}); err != nil {
		return err
	}
	s.api.trust(s.Cluster.Certificates.Dir)
	if err := s.kubeadm(append([]string{"init"}, flags...)...); err != nil {
		return err
	}
	images, err := s.output("config", "images", "list", "--config", "/init.yaml")
	if err != nil {
		return err
	}
	if err := s.api.save("/results/objects.json"); err != nil {
		return err
	}
	if err := os.WriteFile("/results/images", images, 0o644); err != nil {
		return err
	}
	return keep("/results/init", s.Cluster.Certificates.Dir)
}

// certificates creates the certificates of an external CA, whose key is then removed, and the
// kubeconfigs as well, which kubeadm does not create without the key.
func (s *sandbox) certificates(skipped *[]string) error {
	if err := writeFiles(map[string]string{"/init.yaml": string(s.InitYAML(*skipped...))}); err != nil {
		return err
	}
	if !s.ExternalCA {
		return nil
	}
	for _, phase := range []string{"certs", "kubeconfig"} {
		if err := s.kubeadm("init", "phase", phase, "all", "--config", "/init.yaml"); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(s.Cluster.Certificates.Dir, "ca.key"))
}

// join runs kubeadm join as far as it needs neither etcd nor a kubelet.
func (s *sandbox) join() error {
	pki := s.Cluster.Certificates.Dir
	plane := s.Joiner.Node.Role == config.ControlPlane
	if plane {
		// keep moved all files away: restore those that control planes share.
		for _, name := range []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.crt", "etcd/ca.key", "sa.key", "sa.pub"} {
			if err := copyFile("/results/init"+pki+"/"+name, pki+"/"+name); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if err := os.RemoveAll("/patches"); err != nil {
		return err
	}
	if err := s.become(*s.Joiner); err != nil {
		return err
	}
	endpoint := s.Cluster.ControlPlaneEndpoint
	if endpoint == "" {
		endpoint = s.apiAddresses()[0]
	} else if _, _, err := net.SplitHostPort(endpoint); err != nil {
		endpoint = net.JoinHostPort(endpoint, fmt.Sprint(s.Cluster.BindPort))
	}
	if err := writeFiles(map[string]string{"/join.yaml": string(s.JoinYAML(endpoint))}); err != nil {
		return err
	}
	if err := s.api.signClusterInfo(kubeadmtest.Token); err != nil {
		return err
	}
	if plane {
		if err := s.kubeadm("join", "phase", "control-plane-prepare", "all", "--config", "/join.yaml"); err != nil {
			return err
		}
	}
	if err := s.kubeadm("join", "phase", "kubelet-start", "--config", "/join.yaml"); err != nil {
		return err
	}
	return keep("/results/join", pki)
}

// kubeadm runs kubeadm with the proxy environment of the case.
func (s *sandbox) kubeadm(args ...string) error {
	out, err := s.output(args...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (s *sandbox) output(args ...string) ([]byte, error) {
	cmd := exec.Command("/bin/kubeadm", args...)
	cmd.Env = []string{"PATH=/bin", "HOME=/"}
	for k, v := range s.Cluster.ProxyEnv {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("kubeadm %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// keep moves the output of kubeadm to a folder of the results.
func keep(to, pki string) error {
	for _, dir := range []string{"/etc/kubernetes", "/var/lib/kubelet", pki} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to+dir), 0o755); err != nil {
			return err
		}
		if err := os.Rename(dir, to+dir); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// resolvedMark is the file that tells the stand-in for systemctl whether systemd-resolved is
// active.
const resolvedMark = "/etc/resolved"

// systemctl answers kubeadm's queries; it never starts anything.
func systemctl(args []string) int {
	if slices.Contains(args, "systemd-resolved") {
		mark, _ := os.ReadFile(resolvedMark)
		if string(mark) == "true" {
			fmt.Println("active")
			return 0
		}
		fmt.Println("inactive")
		return 3
	}
	return 0
}

func writeJSON(path string, v any) error {
	content, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
