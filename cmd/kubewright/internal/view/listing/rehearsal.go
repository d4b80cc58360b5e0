package listing

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

// RehearsalResult is a backup that was brought back for a moment.
type RehearsalResult struct {
	Cluster string `json:"cluster"`
	Backup  string `json:"backup"`
	// On is the node on which it was brought back, TakenOn the host that took it.
	On         string    `json:"on"`
	Taken      time.Time `json:"taken"`
	TakenOn    string    `json:"taken_on"`
	AgeSeconds int64     `json:"age_seconds"`
	// TookSeconds is how long the host took.
	TookSeconds int64    `json:"took_seconds"`
	Holds       []string `json:"holds"`
	Kubernetes  string   `json:"kubernetes_version"`
	Etcd        string   `json:"etcd_version"`
	Revision    int64    `json:"revision"`
	// Keys is the number of all keys, which Resources divides.
	Keys      int64                `json:"keys"`
	Resources []rehearsal.Resource `json:"resources"`
	// Secret is the Secret that was tried; nil if there is none.
	Secret *RehearsedSecret `json:"secret,omitempty"`
}

// RehearsedSecret is a Secret in a backup.
type RehearsedSecret struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// StoredBy is how it is encrypted, as in secretbox:2026-11; identity for not at all.
	StoredBy  string `json:"stored_by"`
	Decrypted bool   `json:"decrypted"`
}

// Rehearsing prints what a host is doing.
func Rehearsing(w io.Writer, on, what string, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(ui.Clean(on), ": ", ui.Clean(what))
	return p.Flush(w)
}

// Rehearsal prints what a backup holds that was brought back.
func Rehearsal(w io.Writer, r RehearsalResult, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(p.BoldGreen("Backup brought back on "+ui.Clean(r.On)+" for a moment."), " Nothing of it is left there.")
	p.Line()
	p.Line("  backup      ", ui.Clean(r.Backup))
	p.Line("  of          ", ui.Clean(state.ClusterTarget(r.Cluster).String()), ", taken ", r.Taken.Format("2006-01-02 15:04"), " UTC on ", ui.Clean(r.TakenOn), ", ", ago(time.Duration(r.AgeSeconds)*time.Second))
	p.Line("  holds       ", ui.Clean(strings.Join(r.Holds, ", ")))
	p.Line("  kubernetes  ", ui.Clean(r.Kubernetes))
	p.Line("  etcd        ", ui.Clean(r.Etcd), ", revision ", strconv.FormatInt(r.Revision, 10))
	p.Line("  secrets     ", r.Secret.text())
	p.Line()
	rows := ui.Table{{"RESOURCE", "KEYS"}}
	for _, x := range r.Resources {
		rows = append(rows, []string{ui.Clean(x.Name), strconv.FormatInt(x.Keys, 10)})
	}
	p.Table(append(rows, []string{"all", strconv.FormatInt(r.Keys, 10)}), "  ")
	return p.Flush(w)
}

// text says what became of the Secret.
func (s *RehearsedSecret) text() string {
	switch {
	case s == nil:
		return "none"
	case !s.Decrypted:
		return "not decrypted, encrypted with " + ui.Clean(s.StoredBy)
	case s.StoredBy == atrest.Identity:
		return fmt.Sprintf("%s/%s read, not encrypted", ui.Clean(s.Namespace), ui.Clean(s.Name))
	}
	return fmt.Sprintf("%s/%s decrypted with %s", ui.Clean(s.Namespace), ui.Clean(s.Name), ui.Clean(s.StoredBy))
}

// RehearsalJSON is Rehearsal for programs.
func RehearsalJSON(w io.Writer, r RehearsalResult) error {
	return ui.WriteJSON(w, struct {
		FormatVersion string `json:"format_version"`
		RehearsalResult
	}{ui.JSONVersion, r})
}
