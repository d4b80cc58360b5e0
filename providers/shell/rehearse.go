package shell

import (
	"context"
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

//go:embed scripts/rehearse.sh
var rehearseScript string

// Limits of a rehearsal: the size of its answer in bytes, and its time. The host says every second what
// it does, except while it asks etcd for a page of keys.
const (
	rehearseCap     = 8 << 20
	rehearseSilence = 3 * time.Minute
	rehearseTime    = time.Hour
)

// Rehearse implements providers.Host. It is one command on the host, which removes what it has made
// whatever happens to the connection.
func (h *Host) Rehearse(ctx context.Context, r rehearsal.Request) (*rehearsal.Report, error) {
	socket, err := socketPath(r.Socket)
	if err == nil {
		err = checkDigest(r.SHA256)
	}
	if err == nil {
		err = state.CheckPath(r.Prefix)
	}
	if err == nil && !imageForm.MatchString(r.Image) {
		err = fmt.Errorf("%q is no image", r.Image)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot bring the snapshot back on %s: %w", h.name, err)
	}
	// Its own session outlives a caller that is killed, for long enough to clean up.
	work := "kw_r=" + Quote(h.root) + "\nkw_idle=" + seconds(h.idle) + "\nkw_tells=\n" + preludeScript + performScript + runtimeScript + etcdScript + rehearseScript +
		call("kw_rehearse", strconv.FormatInt(r.Size, 10), r.SHA256, r.Image, socket, r.Prefix)
	a, err := h.speaker.run(ctx, script{
		do: "bring the snapshot back on", limit: rehearseCap, pace: budget.Pace{Silence: rehearseSilence, Total: rehearseTime + time.Duration(r.Size/budget.LeastRate)*time.Second},
		body:   "exec 3<&0\nsetsid sh -c \"kw_n=$kw_n\n\"" + Quote(work) + " <&3 3<&- &\nexec 3<&-\nwait\n",
		frames: []frame{{r.Size, r.Open}},
		hear: func(what string) {
			if r.Hear != nil {
				r.Hear(providers.Sanitize(what, 100))
			}
		},
	})
	defer a.release()
	if err != nil {
		return nil, err
	}
	return h.rehearsed(a)
}

// rehearsed reads the answer of a rehearsal.
func (h *Host) rehearsed(a answer) (*rehearsal.Report, error) {
	r, whole := &rehearsal.Report{}, false
	for _, s := range a.sections {
		var err error
		switch word := strings.Join(s.words[1:], " "); s.words[0] {
		case "failed":
			code, _ := strconv.Atoi(word)
			return nil, &providers.CommandError{Host: h.name, Command: "bring the snapshot back", ExitCode: code, Stderr: providers.Tail(a.stderr)}
		case "revision":
			r.Revision, err = strconv.ParseInt(word, 10, 64)
		case "etcd":
			r.Etcd = providers.Sanitize(word, 30)
		case "keys":
			r.Folders, err = foldersOf(s.body)
		case "secret":
			r.Secret, err = storedIn(s.body)
		case "rehearsed":
			whole = true
		}
		if err != nil {
			return nil, unexpected("the etcd's answer", err.Error())
		}
	}
	if !whole {
		return nil, &providers.CommandError{Host: h.name, Command: "bring the snapshot back", ExitCode: 1, Stderr: providers.Tail(a.stderr)}
	}
	return r, nil
}

// foldersOf reads lines of a number and a folder.
func foldersOf(body []byte) (map[string]int64, error) {
	out := map[string]int64{}
	for line := range strings.Lines(string(body)) {
		number, folder, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if number == "" {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of keys", providers.Sanitize(number, 40))
		}
		out[providers.Sanitize(folder, 200)] += n
	}
	return out, nil
}

// storedIn returns the object in an answer of etcdctl; nil if there is none.
func storedIn(body []byte) (*rehearsal.Stored, error) {
	var got struct {
		Kvs []struct {
			Key   []byte `json:"key"`
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, err
	}
	if len(got.Kvs) == 0 {
		return nil, nil
	}
	key, value := string(got.Kvs[0].Key), got.Kvs[0].Value
	return &rehearsal.Stored{Key: providers.Sanitize(key, 600), Open: func(file atrest.File) (rehearsal.Opened, error) {
		return rehearsal.Decrypt(file, key, value)
	}}, nil
}
