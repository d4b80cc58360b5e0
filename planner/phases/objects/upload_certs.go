package objects

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// UploadCerts keeps what control planes share in the Secret kubeadm-certs, as kubeadm init
// --upload-certs does, for a user who joins a control plane by hand. The upload happens once: when the
// cluster is bootstrapped or the configuration begins to ask for it, and again when the certificate key
// changes. After two hours Kubernetes removes the Secret, which is no drift.
var UploadCerts = topology.Phase{
	Name: topology.UploadCertsPhase,
	ClusterItems: func(c *topology.Cluster) []state.Item {
		if !c.UploadCerts {
			return nil
		}
		return append(ObjectItems(c, topology.UploadCertsPhase), certsItem(c))
	},
	ClusterStep: objectStep,
	ClusterNeeds: func(c *topology.Cluster) []state.Address {
		return []state.Address{topology.StepAddress(c.Primary, topology.CertsPhase), topology.StepAddress(c.Target, topology.UploadConfigPhase)}
	},
}

// certsTTL is kubeadm's lifetime of the Secret.
const certsTTL = 2 * time.Hour

var CertsSecret = state.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "kube-system", Name: "kubeadm-certs"}

// generatedKey stands for a certificate key that the configuration does not give: it is shown once and
// stored nowhere.
const generatedKey = "generated"

func certsItem(c *topology.Cluster) state.Item {
	var names []string
	for _, f := range sharedCerts(c) {
		names = append(names, f.Key)
	}
	it := state.Item{
		Address: topology.ItemAddress(c.Target, topology.UploadCertsPhase, "object", CertsSecret.String()), Kind: state.KindObject, Expires: true,
		Origin: map[string]state.Source{"": provenance.ClusterOrigin(c, "upload_certs"), "key": provenance.ClusterOrigin(c, "certificate_key")},
	}
	key := generatedKey
	if !c.CertificateKey.IsZero() {
		key = string(c.CertificateKey.Reveal())
		it.Content = topology.Must(json.Marshal(map[string]string{"key": key}))
	}
	it.Attributes = topology.Attributes("files", topology.Sorted(names), "key", key)
	return it
}

// sharedCerts returns the files that control planes share, as kubeadm names them.
func sharedCerts(c *topology.Cluster) []planner.UploadedFile {
	var out []planner.UploadedFile
	add := func(key, path string) { out = append(out, planner.UploadedFile{Key: key, Path: path}) }
	dir := c.Certificates.Dir
	for _, base := range []string{"ca", "front-proxy-ca"} {
		add(base+".crt", dir+"/"+base+".crt")
		add(base+".key", dir+"/"+base+".key")
	}
	add("sa.pub", dir+"/sa.pub")
	add("sa.key", dir+"/sa.key")
	if e := c.Etcd.External; e != nil {
		add("external-etcd-ca.crt", e.CAFile)
		add("external-etcd.crt", e.CertFile)
		add("external-etcd.key", e.KeyFile)
	} else {
		add("etcd-ca.crt", dir+"/etcd/ca.crt")
		add("etcd-ca.key", dir+"/etcd/ca.key")
	}
	return slices.DeleteFunc(out, func(f planner.UploadedFile) bool { return f.Path == "" })
}

// CertsAttributes returns the attributes of the observed Secret. The key that encrypted it cannot be
// observed: the recorded one is used.
func CertsAttributes(v *topology.Fleet, it *state.Item, object state.Value) state.Value {
	m := map[string]state.Value{"files": state.Strings(object.Get("data").Keys()...)}
	if was := v.RecordedItems.Find(it.Address); was != nil {
		m["key"] = was.Attributes.Get("key")
	}
	return state.Map(m)
}

func makeCerts(c *topology.Cluster, it *state.Item) planner.Operation {
	op := planner.UploadCerts{Files: sharedCerts(c), TTL: certsTTL}
	if !it.Sealed.IsZero() {
		op.Key = it.Outline.Get("key").AsSensitive()
	}
	return op
}

// RefsOfBlocks returns the objects that bootstrap_token blocks and upload_certs create.
func RefsOfBlocks(c *topology.Cluster) []state.ObjectRef {
	var out []state.ObjectRef
	for _, id := range slices.Sorted(maps.Keys(KeptTokens(c))) {
		out = append(out, tokenRef(id))
	}
	if c.UploadCerts {
		out = append(out, CertsSecret)
	}
	return out
}

// Learned returns what the state records of a finished step before anything is observed again. The API
// shows neither the key that encrypted certificates, nor the requested lifetime of a token, nor who
// wants a field of an object: a field that is no longer applied may stay, as a default or because
// another manager sets it too.
func Learned(step *planner.Step, desired *state.Snapshot) state.Learned {
	l := Left(step)
	for _, op := range step.Operations {
		ref := state.ObjectRef{}
		switch op := op.(type) {
		case planner.UploadCerts:
			ref = CertsSecret
		case planner.CreateToken:
			ref = tokenRef(op.ID)
		case planner.ApplyObject:
			if !op.CreateOnly && step.ID.Waypoint == "" {
				ref = RefOf(op.Object)
			}
		}
		if it := desired.Find(topology.ItemAddress(step.Target, step.Phase, "object", ref.String())); it != nil {
			l.Items = append(l.Items, Recordable(*it))
		}
	}
	return l
}

// CertificateKeyOf refers to the output of a step of this plan with the key that encrypted a cluster's
// certificates.
func CertificateKeyOf(cluster string) state.Pending {
	return state.Pending{Step: topology.StepAddress(state.ClusterTarget(cluster), topology.UploadCertsPhase).String(), Output: "certificate_key"}
}
