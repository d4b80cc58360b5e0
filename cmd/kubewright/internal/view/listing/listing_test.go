package listing_test

import (
	"io"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
)

// TestRareSentencesListing checks sentences that are rarely printed.
func TestRareSentencesListing(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"no certificates": viewtest.Shows(func(w io.Writer) error { return listing.Certificates(w, nil, 0, o) }, "No host holds a certificate.\n"),
		"a certificate that a kubelet has not renewed": viewtest.Shows(func(w io.Writer) error {
			return listing.Certificates(w, []pki.HeldCertificate{{Host: "w1", Name: "kubelet", Due: true, RenewedBy: planner.ByKubelet}}, 0, o)
		}, "due, by the kubelet\n"),
		"what renews certificates that expire soon": viewtest.Shows(func(w io.Writer) error {
			return listing.Certificates(w, []pki.HeldCertificate{
				{Due: true, RenewedBy: planner.ByApply},
				{RenewedBy: planner.ByApply},
				{RenewedBy: planner.ByRotation},
				{Due: true, RenewedBy: planner.ByKubelet},
				{RenewedBy: planner.ByOperator},
			}, 36*time.Hour, o)
		}, "\n5 certificates to renew within 1 day 12 hours. kubewright apply renews those that are due. "+
			"Those by apply are not due yet: with a longer certificates { renew_before } they are. kubewright apply -replace=cluster.NAME/CA rotates a CA. "+
			"A kubelet has not renewed its own: its log says why. Those by you are signed by your own CA.\n"),
		"a snapshot": viewtest.Shows(func(w io.Writer) error { return listing.EtcdSnapshot(w, listing.EtcdSnapshotFile{}, o) }, "It holds every Secret of the cluster: keep it where you would keep the cluster's keys.\n"),
	})
}
