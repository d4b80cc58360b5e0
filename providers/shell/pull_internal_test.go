package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// The clients of a runtime: they record their requests, and have the image named in the
// file "has" once they were asked as often as "late" says.
const (
	fakePull = `echo "$(basename "$0") $*" >>"$ROOT/asked"
case "$*" in
*"images list"*) if [ -e "$ROOT/pulled" ]; then echo x; fi ;;
*pull*)
	if [ "$(grep -c pull "$ROOT/asked")" -gt "$(cat "$ROOT/late")" ]; then : >"$ROOT/pulled"; exit 0; fi
	echo "progress"
	echo "no such image, asked $(grep -c pull "$ROOT/asked") times" >&2
	exit 3 ;;
esac
`
	pulledImage = "registry.example.com/app:1"
	pullSocket  = "/run/containerd/containerd.sock"
)

// TestImagesArePulledConcurrently checks that several images are pulled concurrently, except those that
// exist; the last error for each is reported when all have ended.
func TestImagesArePulledConcurrently(t *testing.T) {
	t.Parallel()
	// Each pull waits until three have begun. If they ran one after the other, the first
	// would never see the others.
	const client = `case "$*" in
*inspecti*here*) exit 0 ;;
*inspecti*) exit 1 ;;
*pull*)
	for image do :; done
	mkdir -p "$ROOT/begun/${image##*/}"
	for tries in $(seq 500); do
		if [ "$(ls "$ROOT/begun" | wc -l)" = 3 ]; then
			case $image in *bad*) echo "nobody has ${image##*/}" >&2; exit 3 ;; esac
			: >"$ROOT/got-${image##*/}"
			exit 0
		fi
		sleep 0.02
	done
	exit 7 ;;
esac
`
	for name, tt := range map[string]struct {
		images []string
		want   []string
	}{
		"all come":      {[]string{"x/a", "x/b", "x/here", "x/c"}, []string{"done changed"}},
		"some do not":   {[]string{"x/a", "x/bad1", "x/bad2"}, []string{"nobody has bad1", "nobody has bad2", "did not get it, in 5 tries. To do: ", "failed 3\n"}},
		"all are there": {[]string{"x/here", "y/here"}, []string{"done same"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := swapRoot(t, map[string]string{"bin/crictl": client})
			op := planner.LoadImage{Image: tt.images[0], Others: tt.images[1:], Socket: "unix:///run/crio/crio.sock", Policy: "IfNotPresent"}
			c := &compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}
			body, err := c.script()
			if err != nil {
				t.Fatal(err)
			}
			out := runSwap(t, root, body)
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			for _, image := range tt.images {
				_, err := os.Stat(filepath.Join(root, "got-"+filepath.Base(image)))
				if comes := !strings.Contains(image, "bad") && !strings.Contains(image, "here"); comes != (err == nil) {
					t.Errorf("%s was pulled: %v, want %v", image, err == nil, comes)
				}
			}
		})
	}
}

// TestImagePullIsRetried checks that an image is pulled with crictl, or with containerd's own client
// without crictl, and retried as often as by kubeadm; the output of the last try is kept.
func TestImagePullIsRetried(t *testing.T) {
	t.Parallel()
	crictl := "crictl --timeout 30s --runtime-endpoint unix://" + pullSocket + " --image-endpoint unix://" + pullSocket + " pull " + pulledImage
	ctr := "ctr --address " + pullSocket + " --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d " + pulledImage
	for name, tt := range map[string]struct {
		clients, policy, late string
		pulls                 int
		by                    string
		fails                 []string
	}{
		"at once":               {"crictl ctr", "IfNotPresent", "0", 1, crictl, nil},
		"without crictl":        {"ctr", "IfNotPresent", "0", 1, ctr, nil},
		"the fifth time":        {"crictl ctr", "IfNotPresent", "4", 5, crictl, nil},
		"never":                 {"crictl ctr", "IfNotPresent", "9", 5, crictl, []string{"exit code 3", "did not get it, in 5 tries. To do: ", "no such image, asked 5 times"}},
		"never, without crictl": {"ctr", "IfNotPresent", "9", 5, ctr, []string{"exit code 3", "To do: ", "no such image, asked 5 times"}},
		"forbidden":             {"crictl ctr", "Never", "0", 0, "", []string{"is not present, and the pull policy is Never"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"late": tt.late, "asked": ""}
			for _, client := range strings.Fields(tt.clients) {
				files["bin/"+client] = fakePull
			}
			root := swapRoot(t, files)
			op := planner.LoadImage{Image: pulledImage, Socket: "unix://" + pullSocket, Policy: tt.policy}
			c := &compiler{root: root, batch: providers.Batch{Token: 1, Lineage: "l", Operations: []planner.Operation{op}}}
			body, err := c.script()
			if err != nil {
				t.Fatal(err)
			}
			out := runSwap(t, root, body)
			asked, err := os.ReadFile(filepath.Join(root, "asked"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(asked), " pull "); n != tt.pulls || strings.Count(string(asked), tt.by+"\n") < tt.pulls {
				t.Errorf("asked, want %d times %s:\n%s", tt.pulls, tt.by, asked)
			}
			if failed := strings.Contains(out, "failed"); failed != (tt.fails != nil) {
				t.Errorf("failed: %v\n%s", failed, out)
			}
			for _, want := range tt.fails {
				if want, ok := strings.CutPrefix(want, "exit code "); ok {
					if !strings.Contains(out, "failed "+want+"\n") {
						t.Errorf("it does not fail with %s:\n%s", want, out)
					}
				} else if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, "asked 4 times") {
				t.Errorf("it has output of a try that was not the last:\n%s", out)
			}
		})
	}
}
