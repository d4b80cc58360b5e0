package listing_test

import (
	"io"
	"testing"

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
		"no certificates": viewtest.Shows(func(w io.Writer) error { return listing.Certificates(w, nil, o) }, "No host holds a certificate.\n"),
		"a certificate that a kubelet has not renewed": viewtest.Shows(func(w io.Writer) error {
			return listing.Certificates(w, []pki.HeldCertificate{{Host: "w1", Name: "kubelet", Due: true, RenewedBy: planner.ByKubelet}}, o)
		}, "due, by the kubelet\n"),
		"a snapshot": viewtest.Shows(func(w io.Writer) error { return listing.EtcdSnapshot(w, listing.EtcdSnapshotFile{}, o) }, "It holds every Secret of the cluster: keep it where you would keep the cluster's keys.\n"),
	})
}
