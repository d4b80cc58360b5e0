package session

import (
	"fmt"

	"github.com/kubewright/kubewright/state"
)

// ArtifactsOf returns the folder in which the performer finds the artifacts for a node.
func (s *Session) ArtifactsOf(t state.Target) (string, error) {
	if s.Sending != "" {
		return s.Sending, nil
	}
	m := s.Hosts.Member(t)
	if m == nil {
		return "", fmt.Errorf("internal error: %s is no node of this run", t)
	}
	c := s.Config.Cluster(m.Cluster)
	if c == nil || c.Install.Artifacts == "" {
		return "", fmt.Errorf("internal error: cluster %s has no artifacts", m.Cluster)
	}
	return s.ArtifactsFolder(c), nil
}
