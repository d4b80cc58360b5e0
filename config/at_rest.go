package config

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/atrest"
	"github.com/kubewright/kubewright/state"
)

// AtRest says how API servers encrypt objects before they store them in etcd.
type AtRest struct {
	// Provider is atrest.Secretbox, AESCBC or KMS.
	Provider string
	// Key is the name of the key; empty with KMS.
	Key string
	// Resources are the encrypted resources.
	Resources []string
	KMS       *KMSPlugin
	Source    state.Source
}

// KMSPlugin is a KMS plugin on the control planes.
type KMSPlugin struct {
	Name     string
	Endpoint string
	Timeout  time.Duration
}

// ID returns the provider that encrypts, with the name of its key.
func (a *AtRest) ID() string {
	if a.Provider == atrest.KMS {
		return atrest.ID(atrest.KMS, a.KMS.Name)
	}
	return atrest.ID(a.Provider, a.Key)
}

// Plugins returns the KMS plugins by ID.
func (a *AtRest) Plugins() map[string]state.KMSPlugin {
	if a == nil || a.KMS == nil {
		return nil
	}
	return map[string]state.KMSPlugin{a.ID(): {Endpoint: a.KMS.Endpoint, Timeout: a.KMS.Timeout.String()}}
}

// SocketPrefix begins the endpoint of a KMS plugin.
const SocketPrefix = "unix://"

// isSocket reports whether an endpoint is a socket in a folder of the hosts.
func isSocket(endpoint string) bool {
	socket, ok := strings.CutPrefix(endpoint, SocketPrefix)
	return ok && path.IsAbs(socket) && path.Clean(socket) == socket && path.Dir(socket) != "/"
}

// volumes returns the volumes of API servers that the block needs: the folder of its file, and that
// of the plugin's socket.
func (a *AtRest) volumes() []Volume {
	out := []Volume{{Name: "encryption", HostPath: atrest.Folder, MountPath: atrest.Folder, ReadOnly: true, PathType: "DirectoryOrCreate", Source: a.Source}}
	if a.KMS != nil && isSocket(a.KMS.Endpoint) {
		folder := path.Dir(strings.TrimPrefix(a.KMS.Endpoint, SocketPrefix))
		out = append(out, Volume{Name: "kms-plugin", HostPath: folder, MountPath: folder, PathType: "DirectoryOrCreate", Source: a.Source})
	}
	return out
}

// EncryptAtRest adds to the API server what the encryption block needs.
func (c *Cluster) EncryptAtRest() {
	if c.AtRest == nil {
		return
	}
	for _, v := range c.AtRest.volumes() {
		mounted := slices.ContainsFunc(c.APIServer.Volumes, func(o Volume) bool { return o.MountPath == v.MountPath })
		if !mounted {
			c.APIServer.Volumes = append(c.APIServer.Volumes, v)
		}
		for _, field := range []string{"host_path", "mount_path", "read_only", "path_type"} {
			key := "api_server.extra_volume[\"" + v.Name + "\"]." + field
			if c.Origins.Of(key).IsZero() {
				c.Origins[key] = v.Source
			}
		}
	}
}
