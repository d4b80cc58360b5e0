package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/hosttest"
)

// swapHost has what replaces a manifest on a real host: systemctl, a systemd-run that runs the unit
// itself, and a crictl that notes its arguments and forgets the pod when it stops the container.
// Whatever happens on it is in the file events, in order.
func swapHost(t *testing.T, root, component string) (manifest string, events func() string) {
	t.Helper()
	manifest = "/etc/kubernetes/manifests/" + component + ".yaml"
	pod := root + "/var/lib/kubelet/pods/0123456789abcdef0123456789abcdef"
	other := root + "/var/lib/kubelet/pods/01234567-89ab-cdef-0123-456789abcdef" // the API's
	for _, dir := range []string{filepath.Dir(root + manifest), pod + "/containers/" + component, other + "/containers/" + component, root + "/usr/local/bin"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	there := "state=gone; [ ! -e " + root + manifest + " ] || state=there\n"
	forget := there + "echo \"the kubelet forgets the pod, the manifest is $state\" >>" + root + "/events; rm -r " + pod + "\n"
	for name, content := range map[string]string{
		root + manifest: "former\n",
		root + "/var/lib/kubelet/instance-config.yaml": "containerRuntimeEndpoint: unix:///run/c.sock\n",
		root + "/usr/local/bin/systemctl":              "#!/bin/sh\n" + "echo \"systemctl $*\" >>" + root + "/events\n",
		root + "/usr/local/bin/systemd-run":            "#!/bin/sh\necho 'a unit runs' >>" + root + "/events\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec \"$@\"\n",
		root + "/usr/local/bin/crictl": "#!/bin/sh\nfor last; do :; done\ncase $* in *' ps '*) echo c0ffee ;; *) echo \"crictl $*\" >>" + root + "/events\n" +
			forget + ";; esac\n",
		// The kubelet, as seen by a script that waits for it.
		root + "/usr/local/bin/sleep": "#!/bin/sh\n" + forget,
	} {
		if strings.HasPrefix(name, root+"/usr/") {
			hosttest.WriteProgram(t, name, content)
		} else if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return manifest, func() string {
		t.Helper()
		out, err := os.ReadFile(root + "/events")
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(out)
	}
}

// TestManifestFollowsFormerPod checks that the manifest of a static pod is away until the kubelet has
// forgotten the pod, that a unit of the host does this, that an API server is ended early, and that
// the pod of an API object of the same name does not matter.
func TestManifestFollowsFormerPod(t *testing.T) {
	t.Parallel()
	const stop = "crictl --timeout 60s --runtime-endpoint unix:///run/c.sock --image-endpoint unix:///run/c.sock stop --timeout 10 c0ffee\n"
	for component, ended := range map[string]string{"kube-apiserver": stop, "kube-scheduler": ""} {
		t.Run(component, func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			manifest, events := swapHost(t, root, component)
			write := planner.WriteFile{Path: manifest, Mode: "0600", Content: planner.Content{Inline: "new\n"}, StaticPod: true}
			left := "systemctl stop kubewright-manifest-" + component + "-*.service\n"
			want := left + "systemctl --quiet is-active kubelet.service\na unit runs\n" + ended + "the kubelet forgets the pod, the manifest is gone\n" + left
			for range 2 { // the second finds it as it is to be
				if out, err := perform(t, h, write); err != nil {
					t.Fatalf("%v: %v", out, err)
				}
			}
			if got := events(); got != want {
				t.Errorf("events:\n%s\nwant:\n%s", got, want)
			}
			if got, err := os.ReadFile(root + manifest); err != nil || string(got) != "new\n" {
				t.Errorf("the manifest is %q, %v", got, err)
			}
		})
	}
}

// TestManifestIsWrittenWhateverBecomesOfUnit checks that the new manifest is in place where the unit
// cannot start, or where no kubelet runs that would end the pod.
func TestManifestIsWrittenWhateverBecomesOfUnit(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]struct{ name, content string }{
		"no unit starts": {"systemd-run", "exit 1\n"},
		"the unit fails": {"systemd-run", "rm " + "\"$ROOT\"/etc/kubernetes/manifests/etcd.yaml; exit 1\n"},
		"no kubelet":     {"systemctl", "[ \"$1\" = stop ]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, root, _ := newHost(t)
			manifest, _ := swapHost(t, root, "etcd")
			hosttest.WriteProgram(t, root+"/usr/local/bin/"+program.name, "#!/bin/sh\nROOT="+root+"\n"+program.content)
			if _, err := perform(t, h, planner.WriteFile{Path: manifest, Mode: "0600", Content: planner.Content{Inline: "new\n"}, StaticPod: true}); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(root + manifest); err != nil || string(got) != "new\n" {
				t.Errorf("the manifest is %q, %v", got, err)
			}
		})
	}
}
