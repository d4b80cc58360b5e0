package kube

import (
	"net/http"

	"k8s.io/client-go/discovery"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
)

// clients are the typed clients of the API groups in use. The clientset of client-go has those of
// all groups, an eighth of the program.
type clients struct {
	discovery    *discovery.DiscoveryClient
	apps         *typedappsv1.AppsV1Client
	coordination *typedcoordinationv1.CoordinationV1Client
	core         *typedcorev1.CoreV1Client
	policy       *typedpolicyv1.PolicyV1Client
}

func newClients(config *rest.Config, client *http.Client) (*clients, error) {
	var c clients
	var err error
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.apps, err = typedappsv1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.coordination, err = typedcoordinationv1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	if c.core, err = typedcorev1.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	c.policy, err = typedpolicyv1.NewForConfigAndClient(config, client)
	return &c, err
}

// Discovery returns the client that lists what the API serves.
func (c *clients) Discovery() *discovery.DiscoveryClient { return c.discovery }

// AppsV1 returns the client of apps/v1.
func (c *clients) AppsV1() typedappsv1.AppsV1Interface { return c.apps }

// CoordinationV1 returns the client of coordination.k8s.io/v1.
func (c *clients) CoordinationV1() typedcoordinationv1.CoordinationV1Interface { return c.coordination }

// CoreV1 returns the client of v1.
func (c *clients) CoreV1() typedcorev1.CoreV1Interface { return c.core }

// PolicyV1 returns the client of policy/v1.
func (c *clients) PolicyV1() typedpolicyv1.PolicyV1Interface { return c.policy }
