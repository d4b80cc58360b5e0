package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func TestOptionsDefaults(t *testing.T) {
	t.Parallel()
	o := Options{Cache: &build.Cache{Dir: t.TempDir()}}
	l, err := o.lab()
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != "lab" || l.Release().Kubernetes != build.DefaultKubernetes || o.ControlPlanes != 3 || o.Workers != 2 {
		t.Errorf("got %s, %s, %d+%d", l.Name(), l.Release().Kubernetes, o.ControlPlanes, o.Workers)
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Name: "Lab"},
		{Name: "a-b"},
		{Name: "elevenchars"},
		{Name: "../etc"},
		{Kubernetes: "v1.2.3"},
		{ControlPlanes: 10},
		{Families: "ipx"},
		{Workers: 201},
		{ControlPlanes: -1, Workers: 1},
	} {
		o.Cache = &build.Cache{Dir: t.TempDir()}
		if _, err := o.lab(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for families, want := range map[Families]string{
		IPv4:      "[{cp1 control-plane [10.77.5.11] [10.244.11.0/24]} {cp2 control-plane [10.77.5.12] [10.244.12.0/24]} {w1 worker [10.77.5.21] [10.244.21.0/24]}]",
		IPv6:      "[{cp1 control-plane [fd00:10:77:5::b] [fd00:10:244:b::/64]} {cp2 control-plane [fd00:10:77:5::c] [fd00:10:244:c::/64]} {w1 worker [fd00:10:77:5::15] [fd00:10:244:15::/64]}]",
		DualStack: "[{cp1 control-plane [10.77.5.11 fd00:10:77:5::b] [10.244.11.0/24 fd00:10:244:b::/64]} {cp2 control-plane [10.77.5.12 fd00:10:77:5::c] [10.244.12.0/24 fd00:10:244:c::/64]} {w1 worker [10.77.5.21 fd00:10:77:5::15] [10.244.21.0/24 fd00:10:244:15::/64]}]",
	} {
		if got := fmt.Sprint(chooseHosts(families, netip.MustParsePrefix("10.77.5.0/24"), 2, 1)); got != want {
			t.Errorf("%q: got %s, want %s", families, got, want)
		}
	}
}

func TestUpNeedsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("is root")
	}
	if _, err := Up(t.Context(), Options{}); !errors.Is(err, ErrNeedsRoot) {
		t.Errorf("got %v", err)
	}
}

func TestOpenMissingLabIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Open(&build.Cache{Dir: t.TempDir()}, "nosuch")
	if err == nil || !strings.Contains(err.Error(), "not up") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownHostIsAnError(t *testing.T) {
	t.Parallel()
	_, err := testLab(t).Host("cp9")
	if err == nil || !strings.Contains(err.Error(), "cp1 w1") {
		t.Errorf("got %v; want an error that lists the hosts", err)
	}
}

// testLab returns a lab that exists only in a folder.
func testLab(t *testing.T) *Lab {
	t.Helper()
	subnet := netip.MustParsePrefix("10.77.5.0/24")
	return newLab(&build.Cache{Dir: t.TempDir()}, record{
		Name: "x", Kubernetes: build.DefaultKubernetes, Subnet: subnet,
		Hosts: chooseHosts(IPv4, subnet, 1, 1), Layers: []string{t.TempDir(), t.TempDir()},
	})
}
