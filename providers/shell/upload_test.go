package shell_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
)

// TestUploadOfLostConnectionEnds checks that a batch ends by itself when data stops arriving without
// an end, so that the next one finds the host free. Nothing of the incomplete file remains.
func TestUploadOfLostConnectionEnds(t *testing.T) {
	t.Parallel()
	const size = 200 << 10
	for name, behind := range map[string]int{"in a large file": size / 2, "at its end": size - 10, "between two files": size, "in a small one": size + 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, root, _ := newHost(t)
			o := shell.Options{Root: root, Unprivileged: true}
			stopped, dead := make(chan struct{}), make(chan struct{})
			h := shell.New("cp1", paced{step: size, behind: behind, stopped: stopped, dead: dead}, o)
			h.WaitForData(2 * time.Second)
			ended := make(chan error, 1)
			go func() {
				_, err := perform(t, h, write("/etc/large", strings.Repeat("x", size)), write("/etc/small", strings.Repeat("x", 4096)))
				ended <- err
			}()
			<-stopped
			other := shell.New("cp1", local.Machine{}, o)
			other.WaitForLock(20 * time.Second)
			if _, err := perform(t, other, write("/etc/other", "x")); err != nil {
				t.Error(err)
			}
			close(dead)
			says(t, name, <-ended, "the data ended early")
			left, err := os.ReadDir(root + "/etc")
			want := 1
			if behind >= size {
				want = 2
			}
			if err != nil || len(left) != want {
				t.Errorf("there are %v, %v", left, err)
			}
		})
	}
}

// TestSlowUploadIsReadToTheEnd checks that data that arrives slowly but steadily is read to the end,
// however long that takes.
func TestSlowUploadIsReadToTheEnd(t *testing.T) {
	t.Parallel()
	const patience = 3 * time.Second // a busy machine may add delays as well
	_, root, _ := newHost(t)
	h := shell.New("cp1", paced{step: 4 << 10, pause: patience / 12, behind: math.MaxInt}, shell.Options{Root: root, Unprivileged: true})
	h.WaitForData(patience)
	began := time.Now()
	if _, err := perform(t, h, write("/etc/large", strings.Repeat("x", 104<<10))); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 2*patience {
		t.Errorf("it took only %s", took)
	}
}

// paced is this machine as a transport on which the data of a batch, after the first
// header, arrives in steps, each after a pause, and stops after so many bytes.
type paced struct {
	local.Machine
	step, behind int
	pause        time.Duration
	// stopped is closed when no more data arrives, which lasts until dead is closed.
	stopped, dead chan struct{}
}

func (p paced) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	return p.Machine.Exec(ctx, command, &pacedReader{paced: p, from: stdin}, stdout, stderr)
}

type pacedReader struct {
	paced
	from io.Reader
	data bool
	sent int
}

func (r *pacedReader) Read(p []byte) (int, error) {
	if !r.data {
		n, err := r.from.Read(p)
		r.data = bytes.HasPrefix(p[:n], []byte("kubewright-frame "))
		return n, err
	}
	if r.sent == r.behind {
		close(r.stopped)
		<-r.dead
		return 0, io.EOF
	}
	time.Sleep(r.pause)
	n, err := r.from.Read(p[:min(len(p), r.step, r.behind-r.sent)])
	r.sent += n
	return n, err
}
