package topology

import (
	"maps"

	"github.com/kubewright/kubewright/state"
)

// WithOwner returns the situation of a cluster some of whose hosts belong to another owner, or none.
func (s Situation) WithOwner(disowned bool) Situation {
	s.Disowned = disowned
	return s
}

// WithPrimary returns the situation with another primary, on which the cluster may be founded.
func (s Situation) WithPrimary(t state.Target, founding bool) Situation {
	s.Primary, s.Founding = t, founding
	return s
}

// WithCAs returns the situation with other key digests of the CAs on the primary.
func (s Situation) WithCAs(digests map[string]string) Situation {
	s.Cas = digests
	return s
}

// WithoutCA returns the situation without the key digest of the CA with a base path.
func (s Situation) WithoutCA(base string) Situation {
	s.Cas = maps.Clone(s.Cas)
	delete(s.Cas, base)
	return s
}

// WithUpgrade returns the situation with another version change.
func (s Situation) WithUpgrade(up *Upgrade) Situation {
	s.Up = up
	return s
}

// WithAtOnce returns the situation with expired CAs that are replaced at once.
func (s Situation) WithAtOnce(identities map[string]string) Situation {
	s.AtOnce = identities
	return s
}

// WithVoid returns the situation in which the API's answer does not count.
func (s Situation) WithVoid() Situation {
	s.Void = true
	return s
}

// WithFailed returns the situation with other failing components.
func (s Situation) WithFailed(components map[state.Target][]string) Situation {
	s.Failed = components
	return s
}

// WithRotations returns the situation with CAs that are being rotated.
func (s Situation) WithRotations(of []*CARotation) Situation {
	s.Rotating = of
	return s
}

// WithKeys returns the situation with a rotation of the service account keys.
func (s Situation) WithKeys(r *KeyRotation) Situation {
	s.Keys = r
	return s
}

// WithSigning returns the situation with another pair of files with which controller managers sign.
func (s Situation) WithSigning(with Signing) Situation {
	s.Signing = with
	return s
}

// WithStages returns the situation with the stages of its rotations.
func (s Situation) WithStages(stages []*RotationStage) Situation {
	s.Stages = stages
	return s
}

// WithRestoring returns the situation of a cluster whose etcd is being restored.
func (s Situation) WithRestoring() Situation {
	s.Restoring = true
	return s
}
