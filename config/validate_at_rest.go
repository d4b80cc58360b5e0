package config

import (
	"slices"

	"github.com/kubewright/kubewright/config/atrest"
)

// checkAtRest checks an encryption block.
func checkAtRest(c checker, a *AtRest) {
	const summary = "Invalid encryption block"
	if a == nil {
		return
	}
	switch {
	case a.Provider == atrest.KMS:
		checkKMS(c, a)
	case a.Provider != atrest.Secretbox && a.Provider != atrest.AESCBC:
		c.errorf("encryption.type", summary, "%q is no type of encryption. Write %q, %q or %q.", a.Provider, atrest.Secretbox, atrest.AESCBC, atrest.KMS)
	case a.KMS != nil:
		c.errorf("encryption.kms", summary, "With type = %q the key is on the control planes, and the kms block has no effect. Remove it, or write type = %q.", a.Provider, atrest.KMS)
	case a.Key == "":
		c.errorf("encryption", summary, "With type = %q the key needs a name, which etcd holds with every object. Write one that you will change, as in key = \"2026-11\".", a.Provider)
	case !atrest.CheckKey(a.Key):
		c.errorf("encryption.key", summary, "%q cannot be the name of a key: it may have 63 letters, digits, dots, underscores and dashes, and begins and ends with a letter or digit. The key itself is not written here: it is made on a control plane.", a.Key)
	}
	if len(a.Resources) == 0 {
		c.errorf("encryption.resources", summary, "resources is empty: nothing would be encrypted. Name resources, as in [\"secrets\"], or remove the block, which decrypts what is encrypted.")
	}
	for i, r := range a.Resources {
		if why := atrest.CheckResource(r); why != "" {
			c.errorf("encryption.resources", summary, "The resource %q %s.", r, why)
		}
		if slices.Contains(a.Resources[:i], r) {
			c.errorf("encryption.resources", summary, "The resource %q is written twice. Remove one.", r)
		}
	}
}

func checkKMS(c checker, a *AtRest) {
	const summary = "Invalid encryption block"
	if a.KMS == nil {
		c.errorf("encryption", summary, "With type = %q the block needs kms { name, endpoint }: the plugin that holds the keys.", atrest.KMS)
		return
	}
	if a.Key != "" {
		c.errorf("encryption.key", summary, "With type = %q the plugin has the keys, and rotates them. Remove key. To change the plugin, give it another name.", atrest.KMS)
	}
	if !atrest.CheckPlugin(a.KMS.Name) {
		c.errorf("encryption.kms.name", summary, "%q cannot be the name of a KMS plugin: it may have 63 letters, digits, dots, underscores and dashes, and begins and ends with a letter or digit.", a.KMS.Name)
	}
	if !isSocket(a.KMS.Endpoint) {
		c.errorf("encryption.kms.endpoint", summary, "%q is no socket in a folder of the hosts. Write one as in \"unix:///var/run/kmsplugin/socket.sock\".", a.KMS.Endpoint)
	}
	if a.KMS.Timeout <= 0 {
		c.errorf("encryption.kms.timeout", summary, "timeout is %s. Write a positive duration, as in \"3s\".", a.KMS.Timeout)
	}
}
