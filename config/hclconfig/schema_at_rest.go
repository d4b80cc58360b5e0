package hclconfig

import (
	"github.com/kubewright/kubewright/config/atrest"
)

// atRestBlock describes the encryption of objects in etcd.
var atRestBlock = &Block{
	Name: "encryption", Doc: "Encryption of objects in etcd by the API servers. The file of keys is `" + atrest.Path + "` on each control plane; keys are made there and never leave the hosts. Changing `key`, `provider` or `resources`, adding the block to a running cluster and removing it are plans that write the objects again before an old key is dropped.",
	Attributes: []Attribute{
		{Name: "type", Type: typeString, Default: atrest.Secretbox, Cost: CostObject, Doc: "`secretbox`, `aescbc`, or `kms` for a plugin on the control planes that holds the keys."},
		{Name: "key", Type: typeString, Cost: CostObject, Doc: "Name of the key, as in `2026-11`. Another name rotates the key. Not with `kms`."},
		{Name: "resources", Type: typeStrings, Default: []string{"secrets"}, Cost: CostObject, Doc: "The resources to encrypt, each by its name: `secrets`, `widgets.example.com`."},
	},
	Blocks: []*Block{kmsBlock},
}

var kmsBlock = &Block{
	Name: "kms", Doc: "The KMS v2 plugin of `type = \"kms\"`. It runs on every control plane before the API server does.",
	Attributes: []Attribute{
		{Name: "name", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "Name of the plugin, which etcd holds with every object."},
		{Name: "endpoint", Type: typeString, Required: true, NonEmpty: true, Cost: CostObject, Doc: "Its socket on the hosts, as in `unix:///var/run/kmsplugin/socket.sock`. API servers mount the folder."},
		{Name: "timeout", Type: typeDuration, Default: "3s", Cost: CostObject, Doc: "How long an API server waits for it."},
	},
}
