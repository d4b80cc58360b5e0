package planner

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Operation is one effect. The set is closed: phases choose among these types,
// providers perform them, the simulator performs the same ones, and a plan
// holds them as data. Each says how it is told to be already done, or is done
// again each time; none holds a secret.
type Operation interface {
	// Op is the name in JSON: write_file, apply_object …
	Op() string
	// Summary is one line for the progress display, without the target.
	Summary() string
	// DoneWhen is how its performer detects that there is nothing to do, as a clause
	// about its fields; DoneNever where it does not ask.
	DoneWhen() string
}

// Content is the bytes of a file: inline when they hold no secret, otherwise a
// reference that the performer resolves.
type Content struct {
	Inline string `json:"inline,omitempty"`
	// Ref is where the performer finds the bytes: config:ADDRESS#FIELD.
	Ref string `json:"ref,omitempty"`
	// Fingerprint is that of the secret content that was planned with; empty
	// when nobody has a key yet.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Sealed returns the reference with its fingerprint.
func (c Content) Sealed() state.Sensitive {
	return state.Sensitive{Ref: c.Ref, Fingerprint: c.Fingerprint}
}

// Host operations: performed on the step's node, in one round trip.
type (
	// WriteFile puts a regular file in place, atomically, with mode and owner.
	// Done when the file has this digest, mode and owner.
	WriteFile struct {
		Path    string  `json:"path"`
		Mode    string  `json:"mode"`
		Owner   string  `json:"owner"`
		Content Content `json:"content"`
		SHA256  string  `json:"sha256,omitempty"`
	}

	// RemovePath removes a file or tree, never following a symbolic link. With
	// ContentsOnly the folder itself stays, and so does a mount point. Done when it
	// is absent, or what stays is empty.
	RemovePath struct {
		Path         string `json:"path"`
		ContentsOnly bool   `json:"contents_only,omitempty"`
	}

	// EnsureDirectory makes a folder with mode and owner.
	EnsureDirectory struct {
		Path  string `json:"path"`
		Mode  string `json:"mode"`
		Owner string `json:"owner"`
	}

	// UploadArtifact brings a file of the operator's artifacts folder to the
	// host and puts it, or members of the archive that it is, in place: each
	// atomically, as root's. Done when every one of Files is so.
	UploadArtifact struct {
		// Artifact is the path below the folder, SHA256 what is sent.
		Artifact string         `json:"artifact"`
		SHA256   string         `json:"sha256"`
		Files    []ArtifactFile `json:"files"`
	}

	// ArtifactFile is one file that an artifact becomes.
	ArtifactFile struct {
		// Member is the name in the archive; empty for the artifact itself.
		Member string `json:"member,omitempty"`
		Path   string `json:"path"`
		Mode   string `json:"mode"`
		SHA256 string `json:"sha256"`
	}

	// Preserve keeps what stands at a path before kubewright puts something else
	// there, so that Restore can put it back. Done when something is kept, or
	// when there is nothing.
	Preserve struct {
		Path string `json:"path"`
	}

	// Restore puts back what Preserve kept. Done when nothing is kept; the path
	// is left alone then.
	Restore struct {
		Path string `json:"path"`
	}

	// LoadImage makes images present in the runtime: from an artifact, or pulled.
	LoadImage struct {
		Image string `json:"image"`
		// Artifact is an archive in the operator's folder that holds the image,
		// SHA256 its digest. Others are further images that are wanted of it, or pulled
		// at the same time.
		Artifact string   `json:"artifact,omitempty"`
		SHA256   string   `json:"sha256,omitempty"`
		Others   []string `json:"others,omitempty"`
		Socket   string   `json:"socket"`
		// Policy is Always, IfNotPresent or Never.
		Policy string `json:"policy,omitempty"`
	}

	// Unit acts on a systemd unit: start, stop, restart, enable, disable. A
	// daemon-reload goes before with Reload.
	Unit struct {
		Unit   string `json:"unit"`
		Action string `json:"action"`
		Reload bool   `json:"reload,omitempty"`
	}

	// SetSysctl sets a kernel parameter now; a file written beside keeps it over a reboot.
	SetSysctl struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		// Restore reports whether it is put back to what it was: a kernel that does not have
		// it any more, as a module is gone since a boot, has nothing to put back.
		Restore bool `json:"restore,omitempty"`
	}

	// LoadModule loads a kernel module, or unloads it when nothing uses it.
	LoadModule struct {
		Module string `json:"module"`
		Unload bool   `json:"unload,omitempty"`
	}

	// Swap turns all swap off, or on again as fstab has it.
	Swap struct {
		On bool `json:"on"`
		// Boot is SwapStaysOff, SwapReturns, or empty: what boots do is let alone.
		Boot string `json:"boot,omitempty"`
	}

	// RemovePods stops and removes all pod sandboxes of the runtime, as kubeadm reset does.
	RemovePods struct {
		Socket string `json:"socket"`
	}

	// Unmount takes off everything mounted below a folder.
	Unmount struct {
		Below string `json:"below"`
		// Flags are MNT_FORCE and MNT_DETACH, as umount(2) has them.
		Flags []string `json:"flags,omitempty"`
	}

	// RemoveNetwork removes what Kubernetes and CNI made in the host's network:
	// links and their state, kube-proxy's and the kubelet's firewall rules.
	RemoveNetwork struct {
		// Links are name patterns such as cni0, flannel.*. Of bridges among them the
		// ends of pods' links (veth) that hang on them go as well; those of another
		// container engine hang on its own.
		Links []string `json:"links,omitempty"`
	}

	// RemoveProxyRules removes what kube-proxy made in one of its modes and leaves there
	// when it runs in the other: the link kube-ipvs0, virtual servers, sets and chains of
	// ProxyIPVS, the chains of ProxyIPTables. It waits until kube-proxy has written the
	// rules of the other mode.
	RemoveProxyRules struct {
		Mode string `json:"mode"`
	}

	// Mark writes what kubewright keeps on a host, or with Remove takes it away. CA is
	// the file with the cluster's CA on the host: where it is named, the mark gets the
	// CA that is first in it then as ClusterCA, and what the host's mark said before
	// among FormerCAs.
	Mark struct {
		Marks  state.Marks `json:"marks"`
		CA     string      `json:"ca,omitempty"`
		Remove bool        `json:"remove,omitempty"`
	}
)

// The modes of kube-proxy that do not take away what the other one left.
const (
	ProxyIPVS     = "ipvs"
	ProxyIPTables = "iptables"
)

// Operations with keys: the performer makes or fetches key material in memory
// and sends it to the step's node on stdin. What was issued and exists is kept unless
// Renew, but for a kubeconfig with a token; what is copied, imported or bundled is
// written over where it differs.
type (
	// IssueCA makes a self-signed CA: To.crt and To.key. Done when To.crt exists;
	// with Renew it takes the place of one that has ended.
	IssueCA struct {
		CommonName string        `json:"common_name"`
		Algorithm  string        `json:"algorithm"`
		Validity   time.Duration `json:"validity"`
		To         string        `json:"to"`
		Renew      bool          `json:"renew,omitempty"`
	}

	// IssueKeyPair makes the service account key pair: To.key and To.pub.
	IssueKeyPair struct {
		Algorithm string `json:"algorithm"`
		To        string `json:"to"`
	}

	// CopySecrets brings files from another node of the cluster through the
	// operator's memory: the CAs and the service account keys.
	CopySecrets struct {
		From  state.Target `json:"from"`
		Files []SecretFile `json:"files"`
	}

	// BundleTrust writes To, which whoever reads it trusts: the first certificate
	// of each of the files Of, all on the step's node, each once; or the first public
	// key of each, where To ends in .pub. Done when To is so.
	BundleTrust struct {
		To string   `json:"to"`
		Of []string `json:"of"`
	}

	// SecretFile is one file of CopySecrets or ImportSecrets.
	SecretFile struct {
		Path  string `json:"path"`
		Mode  string `json:"mode"`
		Owner string `json:"owner"`
		// Source is, in ImportSecrets, where the performer finds the bytes:
		// config:ADDRESS#FIELD. In CopySecrets it is the path there, where that is
		// another one.
		Source string `json:"source,omitempty"`
	}

	// ImportSecrets brings files of the operator's: a given CA, certificates of an external CA.
	ImportSecrets struct {
		Files []SecretFile `json:"files"`
	}

	// Signer says which CA signs: on the node that holds its key, or the operator's.
	Signer struct {
		// Name is the CA's common name: kubernetes, etcd-ca, front-proxy-ca.
		Name string `json:"name"`
		// Base is the path of the CA without .crt and .key.
		Base string `json:"base"`
		// On is the node that holds the key; zero for the step's own node.
		On state.Target `json:"on,omitzero"`
		// Operator is set when the key is with the operator, and stays there: where
		// the performer finds the CA, as in config:cluster.prod#certificates.ca.
		Operator string `json:"operator,omitempty"`
	}

	// IssueCertificate makes To.crt and To.key, signed by CA.
	IssueCertificate struct {
		CA            Signer   `json:"ca"`
		CommonName    string   `json:"common_name"`
		Organizations []string `json:"organizations,omitempty"`
		DNSNames      []string `json:"dns_names,omitempty"`
		IPAddresses   []string `json:"ip_addresses,omitempty"`
		// Usages are "server auth" and "client auth".
		Usages    []string      `json:"usages"`
		Algorithm string        `json:"algorithm"`
		Validity  time.Duration `json:"validity"`
		To        string        `json:"to"`
		// Renew replaces what is there.
		Renew bool `json:"renew,omitempty"`
	}

	// WriteKubeconfig writes a kubeconfig (0600) with an inlined client
	// certificate, or with a token where Token is set.
	WriteKubeconfig struct {
		Path          string        `json:"path"`
		CA            Signer        `json:"ca"`
		Cluster       string        `json:"cluster"`
		Server        string        `json:"server"`
		User          string        `json:"user"`
		CommonName    string        `json:"common_name,omitempty"`
		Organizations []string      `json:"organizations,omitempty"`
		Algorithm     string        `json:"algorithm,omitempty"`
		Validity      time.Duration `json:"validity,omitempty"`
		// Trust is a file of the CA's host with the certificates to trust; empty for
		// what is in the CA's own.
		Trust string `json:"trust,omitempty"`
		// Token is an output of another step: the bootstrap token.
		Token *state.Pending `json:"token,omitempty"`
		Renew bool           `json:"renew,omitempty"`
	}

	// SetKubeconfig changes parts of a kubeconfig that holds a key which is to
	// stay: its server, the client certificate's path, or, with Trust, the
	// certificates that are trusted: those in that file of the same node.
	SetKubeconfig struct {
		Path              string `json:"path"`
		Trust             string `json:"trust,omitempty"`
		Server            string `json:"server,omitempty"`
		ClientCertificate string `json:"client_certificate,omitempty"`
	}
)

// CertificateRef returns where the performer finds the certificate of an operator's CA.
func (s Signer) CertificateRef() string { return s.Operator + ".certificate" }

// KeyRef returns where the performer finds the key of an operator's CA.
func (s Signer) KeyRef() string { return s.Operator + ".key" }

// References lists what an operation names and does not hold: the performer
// finds it before the operation, and nothing of it is in a plan.
func References(op Operation) []state.Sensitive {
	switch op := op.(type) {
	case WriteFile:
		if op.Content.Ref != "" {
			return []state.Sensitive{op.Content.Sealed()}
		}
	case ImportSecrets:
		var refs []state.Sensitive
		for _, f := range op.Files {
			refs = append(refs, state.Sensitive{Ref: f.Source})
		}
		return refs
	case IssueCertificate:
		return op.CA.references(true)
	case WriteKubeconfig:
		return op.CA.references(op.Token == nil)
	}
	return nil
}

func (s Signer) references(key bool) []state.Sensitive {
	switch {
	case s.Operator == "":
		return nil
	case key:
		return []state.Sensitive{{Ref: s.CertificateRef()}, {Ref: s.KeyRef()}}
	}
	return []state.Sensitive{{Ref: s.CertificateRef()}}
}

// Operations on etcd, through any member that answers.
type (
	// AddEtcdMember adds a learner; done when a member has the peer URL. Its
	// output initial_cluster is what the new member's manifest needs.
	AddEtcdMember struct {
		Name    string `json:"name"`
		PeerURL string `json:"peer_url"`
	}

	// RenderEtcdManifest writes etcd's static pod with initial-cluster from the
	// output of AddEtcdMember in the same step. Manifest is the pod with
	// InitialClusterPlaceholder in its place.
	RenderEtcdManifest struct {
		Path     string  `json:"path"`
		Manifest Content `json:"manifest"`
		Mode     string  `json:"mode"`
		Owner    string  `json:"owner"`
	}

	// PromoteEtcdMember makes a started learner a voter; done when it is one.
	PromoteEtcdMember struct {
		PeerURL string        `json:"peer_url"`
		Timeout time.Duration `json:"timeout"`
	}

	// RemoveEtcdMember moves leadership away and removes the member through
	// another one; done when no member has the peer URL.
	RemoveEtcdMember struct {
		Name    string        `json:"name"`
		PeerURL string        `json:"peer_url"`
		Timeout time.Duration `json:"timeout"`
	}
)

// InitialClusterPlaceholder stands in RenderEtcdManifest.Manifest for the value
// that only apply knows.
const InitialClusterPlaceholder = "kubewright:initial-cluster"

// Operations on the API.
type (
	// ApplyObject makes the leaves of Object so, and no others, by server-side
	// apply: leaves that were ours and are not in it any more go.
	ApplyObject struct {
		Object state.Value `json:"object"`
		// CreateOnly leaves an object that exists alone.
		CreateOnly bool `json:"create_only,omitempty"`
		// CAFrom fills certificate-authority-data of an inlined kubeconfig in
		// data key CAKey (cluster-info) with the CA that this path on the
		// step's node holds; the CA exists only at apply.
		CAFrom string `json:"ca_from,omitempty"`
		CAKey  string `json:"ca_key,omitempty"`
	}

	// DeleteObject deletes an object; done when it is gone.
	DeleteObject struct {
		Ref state.ObjectRef `json:"ref"`
	}

	// PatchNode sets labels, annotations and taints of a Node, and removes those listed.
	PatchNode struct {
		Node              string            `json:"node"`
		Labels            map[string]string `json:"labels,omitempty"`
		Annotations       map[string]string `json:"annotations,omitempty"`
		Taints            []state.Taint     `json:"taints,omitempty"`
		RemoveLabels      []string          `json:"remove_labels,omitempty"`
		RemoveAnnotations []string          `json:"remove_annotations,omitempty"`
		RemoveTaints      []state.Taint     `json:"remove_taints,omitempty"`
		// Sealed are labels and annotations whose values are sensitive, by their
		// paths: labels.NAME, annotations.NAME.
		Sealed  map[string]state.Sensitive `json:"sealed,omitempty"`
		Timeout time.Duration              `json:"timeout"`
	}

	// Cordon makes a node unschedulable, or schedulable again with Undo. For says
	// what for, and the node remembers it in CordonAnnotation: a node that is
	// unschedulable already is then somebody else's and stays as it is, and Undo
	// undoes only what was done for the same; without For it undoes all of it. With Remember, a version, the node
	// remembers in LetInAnnotation when that was undone, and for which version.
	Cordon struct {
		Node     string `json:"node"`
		Undo     bool   `json:"undo,omitempty"`
		For      string `json:"for,omitempty"`
		Remember string `json:"remember,omitempty"`
	}

	// Drain evicts the pods of a node as kubectl drain does, and never deletes
	// what may not be evicted unless DisableEviction says so. Pods of DaemonSets and
	// mirror pods stay. What is left at its deadline is named in the error.
	Drain struct {
		Node               string        `json:"node"`
		Timeout            time.Duration `json:"timeout"`
		GracePeriod        int           `json:"grace_period"`
		Force              bool          `json:"force,omitempty"`
		DeleteEmptyDirData bool          `json:"delete_emptydir_data,omitempty"`
		DisableEviction    bool          `json:"disable_eviction,omitempty"`
		PodSelector        string        `json:"pod_selector,omitempty"`
		// SkipWait, when not 0, is for how long a pod may have been terminating to
		// be waited for.
		SkipWait time.Duration `json:"skip_wait,omitempty"`
		// Uncordon makes the node schedulable again when the drain does not succeed.
		Uncordon bool `json:"uncordon,omitempty"`
	}

	// CreateToken makes a bootstrap token. Without an ID it is one for this run,
	// and its secret output token is all of it. With an ID it is to stay: Token
	// stands for its secret half, or that is generated; one that is there keeps
	// what was generated for it. Expires is RFC 3339 and excludes TTL; without
	// both it stays for ever.
	CreateToken struct {
		ID          string          `json:"id,omitempty"`
		Token       state.Sensitive `json:"token,omitzero"`
		Expires     string          `json:"expires,omitempty"`
		Description string          `json:"description"`
		TTL         time.Duration   `json:"ttl"`
		Usages      []string        `json:"usages"`
		Groups      []string        `json:"groups"`
	}

	// UploadCerts encrypts files of the step's node with a certificate key and
	// keeps them in the Secret kubeadm-certs, until the TTL of a token that owns
	// it is over. A key that is not given is generated: the secret output
	// certificate_key.
	UploadCerts struct {
		Files []UploadedFile  `json:"files"`
		Key   state.Sensitive `json:"key,omitzero"`
		TTL   time.Duration   `json:"ttl"`
	}

	// UploadedFile is a file and the Secret's key for it. One that does not exist
	// is uploaded empty.
	UploadedFile struct {
		Key  string `json:"key"`
		Path string `json:"path"`
	}

	// DeleteToken deletes the token that another step of this plan made.
	DeleteToken struct {
		Token state.Pending `json:"token"`
	}

	// DeleteJoinTokens deletes all tokens that were made for a join (IsJoinToken), by this
	// run or an earlier one, but for those with the IDs in Keep.
	DeleteJoinTokens struct {
		Keep []string `json:"keep,omitempty"`
	}
)

// CordonAnnotation is the annotation of a node that was made unschedulable for
// something that kubewright does: Cordon.For.
const CordonAnnotation = "kubewright.github.io/cordoned-for"

// LetInAnnotation is the annotation of a node behind whose upgrade there is a
// pause: when it was made schedulable again (RFC 3339, UTC), a blank, and the
// version of its kubelet. A pause that was cut short goes on from there.
const LetInAnnotation = "kubewright.github.io/let-in"

// LetIn returns the value of LetInAnnotation.
func LetIn(at time.Time, version string) string {
	return at.UTC().Format(time.RFC3339) + " " + version
}

// operations lists one zero value of each operation: the closed set.
var operations = []Operation{
	WriteFile{},
	RemovePath{},
	EnsureDirectory{},
	SetAccess{},
	UploadArtifact{},
	Preserve{},
	Restore{},
	Packages{},
	LoadImage{},
	Unit{},
	RestartProcess{},
	SetSysctl{},
	LoadModule{},
	Swap{},
	RemovePods{},
	Unmount{},
	RemoveNetwork{},
	RemoveProxyRules{},
	Mark{},
	IssueCA{},
	IssueKeyPair{},
	CopySecrets{},
	BundleTrust{},
	ImportSecrets{},
	IssueCertificate{},
	WriteKubeconfig{},
	SetKubeconfig{},
	AddEtcdMember{},
	RenderEtcdManifest{},
	PromoteEtcdMember{},
	RemoveEtcdMember{},
	SnapshotEtcd{},
	CompactEtcd{},
	DefragmentEtcd{},
	MoveEtcdLeader{},
	DisarmEtcd{},
	SetAsideEtcd{},
	RestoreEtcd{},
	ApplyObject{},
	DeleteObject{},
	PatchNode{},
	RestartPods{},
	Cordon{},
	Drain{},
	CreateToken{},
	UploadCerts{},
	DeleteToken{},
	DeleteJoinTokens{},
	Wait{},
}

// IsHostOperation reports whether the operation is done by a host alone, so
// that it can travel with its neighbours in one round trip.
func IsHostOperation(op Operation) bool {
	switch op.(type) {
	case WriteFile, RemovePath, EnsureDirectory, SetAccess, UploadArtifact, Preserve, Restore, Packages, LoadImage, Unit,
		RestartProcess, SetSysctl, LoadModule, Swap, RemovePods, Unmount, RemoveNetwork, RemoveProxyRules, Mark, SetAsideEtcd, RestoreEtcd:
		return true
	}
	return false
}

// IsKeyOperation reports whether the operation makes keys, certificates or
// kubeconfigs, or brings them from host to host, and writes them to its host.
func IsKeyOperation(op Operation) bool {
	switch op.(type) {
	case IssueCA, IssueKeyPair, IssueCertificate, WriteKubeconfig, SetKubeconfig, CopySecrets, BundleTrust, ImportSecrets:
		return true
	}
	return false
}

// Tells reports whether what the commands of an operation print may be shown while
// they run. Those of most take no time, or have to do with what nobody may read.
func Tells(op Operation) bool {
	switch op.(type) {
	case Packages, LoadImage, RemovePods:
		return true
	}
	return false
}

// WritesHost reports whether the operation writes to the host of its step: then,
// before the first, also the run's token.
func WritesHost(op Operation) bool {
	_, manifest := op.(RenderEtcdManifest)
	return manifest || IsHostOperation(op) || IsKeyOperation(op)
}

// IsAPIOperation reports whether the operation writes to the API.
func IsAPIOperation(op Operation) bool {
	switch op.(type) {
	case ApplyObject, DeleteObject, PatchNode, RestartPods, Cordon, Drain, CreateToken, DeleteToken, DeleteJoinTokens:
		return true
	}
	return false
}
