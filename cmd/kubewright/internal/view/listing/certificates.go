package listing

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
)

// Certificates prints a table of certificates: as many columns as fit into the width, or all of
// them without a terminal. The end of a certificate is always shown. within, if not 0, is the time
// within which those of the list expire.
func Certificates(w io.Writer, list []pki.HeldCertificate, within time.Duration, o ui.Options) error {
	p := ui.NewPage(o)
	switch {
	case len(list) == 0 && within > 0:
		p.Prose("No certificate has to be renewed within " + ui.DaysAndHours(within) + ".")
		return p.Flush(w)
	case len(list) == 0:
		p.Line("No host holds a certificate.")
		return p.Flush(w)
	}
	rows := ui.Table{{"HOST", "CERTIFICATE", "SUBJECT", "CA", "EXPIRES", "LEFT", "RENEWAL"}}
	for _, c := range list {
		rows = append(rows, certificateRow(c))
	}
	columns := rows.Fitting(o.Width, optionalColumns)
	for i, row := range rows {
		text := rows.Line(row, columns)
		switch {
		case i == 0:
			text = p.Bold(text)
		case list[i-1].Ended || list[i-1].Invalid != "":
			text = p.Red(text)
		case list[i-1].Due:
			text = p.Yellow(text)
		}
		p.Line(text)
	}
	if within > 0 {
		p.Line()
		p.Prose(ui.Plural(len(list), "certificate") + " to renew within " + ui.DaysAndHours(within) + ". " + renewals(list))
	}
	return p.Flush(w)
}

// renewals says what renews the certificates of a list.
func renewals(list []pki.HeldCertificate) string {
	has := func(is func(pki.HeldCertificate) bool) bool { return slices.ContainsFunc(list, is) }
	var out []string
	for _, r := range []struct {
		is   func(pki.HeldCertificate) bool
		todo string
	}{
		{
			func(c pki.HeldCertificate) bool { return c.RenewedBy == planner.ByApply && c.Due },
			"kubewright apply renews those that are due.",
		},
		{
			func(c pki.HeldCertificate) bool { return c.RenewedBy == planner.ByApply && !c.Due && c.Invalid == "" },
			"Those by apply are not due yet: with a longer certificates { renew_before } they are.",
		},
		{
			func(c pki.HeldCertificate) bool { return c.RenewedBy == planner.ByRotation },
			"kubewright apply -replace=cluster.NAME/CA rotates a CA.",
		},
		{
			func(c pki.HeldCertificate) bool { return c.RenewedBy == planner.ByKubelet },
			"A kubelet has not renewed its own: its log says why.",
		},
		{
			func(c pki.HeldCertificate) bool { return c.RenewedBy == planner.ByOperator },
			"Those by you are signed by your own CA.",
		},
	} {
		if has(r.is) {
			out = append(out, r.todo)
		}
	}
	return strings.Join(out, " ")
}

// certificateRow returns the cells of a certificate.
func certificateRow(c pki.HeldCertificate) []string {
	row := []string{ui.Clean(c.Host), ui.Clean(c.Name), ui.Clean(c.CommonName), ui.Clean(c.Issuer), "", "", renewalText(c)}
	if c.Host == "" {
		row[0] = ui.Clean(c.Address)
	}
	if c.Invalid != "" {
		row[2] = "cannot be read: " + ui.Clean(c.Invalid)
		return row
	}
	row[4], row[5] = c.NotAfter.UTC().Format("2006-01-02 15:04"), timeLeft(c)
	return row
}

// timeLeft returns the days that a certificate is still valid.
func timeLeft(c pki.HeldCertificate) string {
	switch {
	case c.Ended:
		return "expired"
	case c.DaysLeft < 1:
		return "< 1 day"
	}
	return ui.Plural(c.DaysLeft, "day")
}

// renewalText returns who renews a certificate, and whether it is due.
func renewalText(c pki.HeldCertificate) string {
	switch {
	case c.RenewedBy == planner.ByApply && c.Due:
		return "due"
	case c.RenewedBy == planner.ByApply:
		return "by apply"
	case c.RenewedBy == planner.ByRotation && c.Due:
		return "due, by -replace"
	case c.RenewedBy == planner.ByRotation:
		return "by -replace"
	case c.RenewedBy == planner.ByKubelet && c.Due:
		return "due, by the kubelet"
	case c.RenewedBy == planner.ByKubelet:
		return "by the kubelet"
	case c.RenewedBy == planner.ByOperator && c.Due:
		return "due, by you"
	case c.RenewedBy == planner.ByOperator:
		return "by you"
	}
	return "none"
}

// optionalColumns are the columns that a narrow terminal leaves out, in this order: subject, CA,
// renewal.
var optionalColumns = []int{2, 3, 6}

// certificateJSON is a certificate for programs.
type certificateJSON struct {
	Node          string     `json:"node"`
	Host          string     `json:"host"`
	Address       string     `json:"address"`
	Path          string     `json:"path"`
	Kind          string     `json:"kind"`
	CommonName    string     `json:"common_name,omitempty"`
	Organizations []string   `json:"organizations,omitempty"`
	CA            string     `json:"ca,omitempty"`
	NotAfter      *time.Time `json:"not_after,omitempty"`
	DaysLeft      int        `json:"days_left"`
	Ended         bool       `json:"ended"`
	Due           bool       `json:"due"`
	RenewedBy     string     `json:"renewed_by"`
	Invalid       string     `json:"invalid,omitempty"`
}

// CertificatesJSON prints one object with all certificates. The kind is ca, certificate or
// kubeconfig; renewed_by is a planner.Renewer.
func CertificatesJSON(w io.Writer, list []pki.HeldCertificate) error {
	out := struct {
		FormatVersion string            `json:"format_version"`
		Certificates  []certificateJSON `json:"certificates"`
	}{ui.JSONVersion, []certificateJSON{}}
	for _, c := range list {
		j := certificateJSON{
			Node: c.Node.String(), Host: c.Host, Address: c.Address, Path: c.Path, Kind: c.Kind(), CommonName: c.CommonName,
			Organizations: c.Organizations, CA: c.Issuer, DaysLeft: c.DaysLeft, Ended: c.Ended, Due: c.Due, RenewedBy: string(c.RenewedBy), Invalid: c.Invalid,
		}
		if c.Invalid == "" {
			at := c.NotAfter.UTC()
			j.NotAfter = &at
		}
		out.Certificates = append(out.Certificates, j)
	}
	return ui.WriteJSON(w, out)
}
