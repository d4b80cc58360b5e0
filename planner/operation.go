package planner

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Operation is one effect. The set is closed: phases choose among these types, providers perform
// them, the simulator performs the same ones, and a plan holds them as data. Each operation either
// says how its performer detects that it is already done, or is repeated each time. None holds a
// secret.
type Operation interface {
	// Op returns the name in JSON: write_file, apply_object …
	Op() string
	// Summary returns one line for the progress display, without the target.
	Summary() string
	// DoneWhen returns, as a clause about the operation's fields, how its performer detects that
	// there is nothing to do; DoneNever if it does not check.
	DoneWhen() string
}

// Content is the bytes of a file: inline when they hold no secret, otherwise a reference that the
// performer resolves.
type Content struct {
	Inline string `json:"inline,omitempty"`
	// Ref is where the performer finds the bytes: config:ADDRESS#FIELD.
	Ref string `json:"ref,omitempty"`
	// Fingerprint is the fingerprint of the planned secret content; empty while no key exists.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Sealed returns the reference with its fingerprint.
func (c Content) Sealed() state.Sensitive {
	return state.Sensitive{Ref: c.Ref, Fingerprint: c.Fingerprint}
}

// Host operations: performed on the step's node, in one round trip.
type (
	// WriteFile writes a regular file atomically, with mode and owner. The manifest of a static pod
	// replaces another one once the kubelet has ended the pod of that one, whatever becomes of the
	// connection meanwhile. Done when the file has this digest, mode and owner.
	WriteFile struct {
		Path    string  `json:"path"`
		Mode    string  `json:"mode"`
		Owner   string  `json:"owner"`
		Content Content `json:"content"`
		SHA256  string  `json:"sha256,omitempty"`
		// StaticPod reports whether the file is the manifest of a static pod, and the kubelet that runs
		// may have the pod of a former one.
		StaticPod bool `json:"static_pod,omitempty"`
	}

	// RemovePath removes a file or tree and never follows a symbolic link. With ContentsOnly the
	// folder itself stays, as a mount point always does. Done when the path is absent, or the
	// folder that stays is empty.
	RemovePath struct {
		Path         string `json:"path"`
		ContentsOnly bool   `json:"contents_only,omitempty"`
	}

	// EnsureDirectory creates a folder with mode and owner.
	EnsureDirectory struct {
		Path  string `json:"path"`
		Mode  string `json:"mode"`
		Owner string `json:"owner"`
	}

	// UploadArtifact copies a file of the operator's artifacts folder to the host and installs it,
	// or members of the archive, atomically and owned by root. Done when every one of Files is
	// installed like this.
	UploadArtifact struct {
		// Artifact is the path below the folder, SHA256 the digest of the artifact.
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

	// Preserve keeps the current file at a path before kubewright replaces it, so that Restore can
	// put it back. Done when something is already kept, or when the path does not exist. With Any it
	// also keeps that the path, and which folders around it, do not exist, or mode and owner of a
	// folder.
	Preserve struct {
		Path string `json:"path"`
		Any  bool   `json:"any,omitempty"`
	}

	// Restore puts back what Preserve kept. Done when nothing is kept; the path is unchanged then. A
	// folder that did not exist is removed if it is empty; otherwise it stays.
	Restore struct {
		Path string `json:"path"`
	}

	// LoadImage makes images present in the runtime: from an artifact, or pulled.
	LoadImage struct {
		Image string `json:"image"`
		// Artifact is an archive in the operator's folder that holds the image, SHA256 its digest.
		// Others are further images that are loaded from it, or pulled at the same time.
		Artifact string   `json:"artifact,omitempty"`
		SHA256   string   `json:"sha256,omitempty"`
		Others   []string `json:"others,omitempty"`
		Socket   string   `json:"socket"`
		// Policy is Always, IfNotPresent or Never.
		Policy string `json:"policy,omitempty"`
	}

	// Unit acts on a systemd unit: start, stop, restart, enable, disable, or DaemonReload. With
	// Reload it runs daemon-reload first. With Verify a unit that starts and does not stay active is
	// an error.
	Unit struct {
		Unit   string `json:"unit"`
		Action string `json:"action"`
		Reload bool   `json:"reload,omitempty"`
		Verify bool   `json:"verify,omitempty"`
	}

	// SetSysctl sets a kernel parameter now; a separate file makes it persistent over reboots.
	SetSysctl struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		// Restore reports whether the previous value is restored. A kernel that no longer has the
		// parameter, because its module is gone since a reboot, then needs no change.
		Restore bool `json:"restore,omitempty"`
	}

	// LoadModule loads a kernel module, or unloads it when it is unused.
	LoadModule struct {
		Module string `json:"module"`
		Unload bool   `json:"unload,omitempty"`
	}

	// SystemUser creates a system user without login and the group of the same name, as far as they
	// do not exist, or removes them.
	SystemUser struct {
		Name   string `json:"name"`
		Remove bool   `json:"remove,omitempty"`
		// Keep is KeepUser or KeepGroup where that one was there before, and is not removed.
		Keep string `json:"keep,omitempty"`
	}

	// Swap turns all swap off, or on again as configured in fstab.
	Swap struct {
		On bool `json:"on"`
		// Boot is SwapStaysOff or SwapReturns; empty leaves the behaviour at boot unchanged.
		Boot string `json:"boot,omitempty"`
	}

	// RemovePods stops and removes all pod sandboxes of the runtime, as kubeadm reset does.
	RemovePods struct {
		Socket string `json:"socket"`
	}

	// Unmount unmounts everything mounted below a folder.
	Unmount struct {
		Below string `json:"below"`
		// Flags are MNT_FORCE and MNT_DETACH, as umount(2) has them.
		Flags []string `json:"flags,omitempty"`
	}

	// RemoveNetwork removes what Kubernetes and CNI created in the host's network: links and their
	// state, and the firewall rules of kube-proxy and the kubelet.
	RemoveNetwork struct {
		// Links are name patterns such as cni0, flannel.*. When a bridge matches, the host ends of
		// pod links (veth) attached to it are removed as well. Those of another container engine
		// are attached to its own bridges.
		Links []string `json:"links,omitempty"`
	}

	// RemoveProxyRules removes what kube-proxy created in one of its modes and leaves there when it
	// runs in the other: the link kube-ipvs0, virtual servers, sets and chains of ProxyIPVS, or the
	// chains of ProxyIPTables. It waits until kube-proxy has written the rules of the other mode.
	RemoveProxyRules struct {
		Mode string `json:"mode"`
	}

	// Mark writes kubewright's marker on a host, or removes it with Remove. CA is the file on the
	// host with the cluster's CA: if set, the first CA in it at that time becomes the marker's
	// ClusterCA, and the previous one joins FormerCAs.
	Mark struct {
		Marks  state.Marks `json:"marks"`
		CA     string      `json:"ca,omitempty"`
		Remove bool        `json:"remove,omitempty"`
	}
)

// DaemonReload is the action of Unit that only has systemd read the unit files again.
const DaemonReload = "daemon-reload"

// The modes of kube-proxy that do not clean up after each other.
const (
	ProxyIPVS     = "ipvs"
	ProxyIPTables = "iptables"
)

// Operations with keys: the performer creates or fetches key material in memory and sends it to the
// step's node on stdin. Issued files that exist are kept unless Renew is set, except a kubeconfig
// with a token; copied, imported or bundled files are overwritten when they differ.
type (
	// IssueCA creates a self-signed CA: To.crt and To.key. Done when To.crt exists; with Renew it
	// replaces an expired CA.
	IssueCA struct {
		CommonName string        `json:"common_name"`
		Algorithm  string        `json:"algorithm"`
		Validity   time.Duration `json:"validity"`
		To         string        `json:"to"`
		Renew      bool          `json:"renew,omitempty"`
	}

	// IssueKeyPair creates the service account key pair: To.key and To.pub.
	IssueKeyPair struct {
		Algorithm string `json:"algorithm"`
		To        string `json:"to"`
	}

	// CopySecrets copies files from another node of the cluster through the operator's memory: the
	// CAs and the service account keys.
	CopySecrets struct {
		From  state.Target `json:"from"`
		Files []SecretFile `json:"files"`
	}

	// BundleTrust writes the trust bundle To: the first certificate of each of the files Of, all on
	// the step's node, without duplicates; or the first public key of each, if To ends in .pub.
	// Done when To has this content.
	BundleTrust struct {
		To string   `json:"to"`
		Of []string `json:"of"`
	}

	// SecretFile is one file of CopySecrets or ImportSecrets.
	SecretFile struct {
		Path  string `json:"path"`
		Mode  string `json:"mode"`
		Owner string `json:"owner"`
		// Source is, in ImportSecrets, where the performer finds the bytes: config:ADDRESS#FIELD.
		// In CopySecrets it is the path on the other node, if that differs.
		Source string `json:"source,omitempty"`
	}

	// ImportSecrets copies files of the operator: a given CA, certificates of an external CA.
	ImportSecrets struct {
		Files []SecretFile `json:"files"`
	}

	// Signer says which CA signs: the one on the node that holds its key, or the operator's.
	Signer struct {
		// Name is the CA's common name: kubernetes, etcd-ca, front-proxy-ca.
		Name string `json:"name"`
		// Base is the path of the CA without .crt and .key.
		Base string `json:"base"`
		// On is the node that holds the key; zero for the step's own node.
		On state.Target `json:"on,omitzero"`
		// Operator is set when the operator holds the key, which stays there: it says where the
		// performer finds the CA, as in config:cluster.prod#certificates.ca.
		Operator string `json:"operator,omitempty"`
	}

	// IssueCertificate creates To.crt and To.key, signed by CA.
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
		// Renew replaces an existing certificate.
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
		// Trust is a file on the CA's host with the certificates to trust; empty for the content of
		// the CA file itself.
		Trust string `json:"trust,omitempty"`
		// Token is an output of another step: the bootstrap token.
		Token *state.Pending `json:"token,omitempty"`
		Renew bool           `json:"renew,omitempty"`
	}

	// SetKubeconfig changes parts of a kubeconfig and keeps its key: the server, the path of the
	// client certificate, or, with Trust, the trusted certificates, which it reads from that file
	// on the same node.
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

// References returns the secrets that an operation refers to: the performer resolves them before
// the operation, and the plan never holds them.
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
	// AddEtcdMember adds a learner; done when a member has the peer URL. The manifest of the new
	// member needs its output initial_cluster.
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

// InitialClusterPlaceholder stands in RenderEtcdManifest.Manifest for the value that is known only
// during apply.
const InitialClusterPlaceholder = "kubewright:initial-cluster"

// Operations on the API.
type (
	// ApplyObject sets exactly the leaves of Object by server-side apply: leaves that kubewright
	// owned before and that are no longer in it are removed.
	ApplyObject struct {
		Object state.Value `json:"object"`
		// CreateOnly leaves an existing object unchanged.
		CreateOnly bool `json:"create_only,omitempty"`
		// CAFrom fills certificate-authority-data of the kubeconfig inlined in data key CAKey
		// (cluster-info) with the CA at this path on the step's node; the CA exists only during
		// apply.
		CAFrom string `json:"ca_from,omitempty"`
		CAKey  string `json:"ca_key,omitempty"`
	}

	// DeleteObject deletes an object; done when it is gone.
	DeleteObject struct {
		Ref state.ObjectRef `json:"ref"`
	}

	// PatchNode sets labels, annotations and taints of a Node, and removes the listed ones; it
	// cordons or uncordons the node, also where another user has cordoned it.
	PatchNode struct {
		Node              string            `json:"node"`
		Labels            map[string]string `json:"labels,omitempty"`
		Annotations       map[string]string `json:"annotations,omitempty"`
		Taints            []state.Taint     `json:"taints,omitempty"`
		RemoveLabels      []string          `json:"remove_labels,omitempty"`
		RemoveAnnotations []string          `json:"remove_annotations,omitempty"`
		RemoveTaints      []state.Taint     `json:"remove_taints,omitempty"`
		// Schedulable uncordons the node; false cordons it, and has it record CordonConfigured.
		Schedulable *bool `json:"schedulable,omitempty"`
		// Sealed are labels and annotations with sensitive values, by path: labels.NAME,
		// annotations.NAME.
		Sealed  map[string]state.Sensitive `json:"sealed,omitempty"`
		Timeout time.Duration              `json:"timeout"`
	}

	// Cordon makes a node unschedulable, or with Undo schedulable again. For is the purpose, which
	// the node records in CordonAnnotation. A node that is already unschedulable was cordoned by
	// another user and stays unchanged. Undo reverts only a cordon for the same purpose; without
	// For it reverts any. With Remember, a version, the node records in LetInAnnotation when it was
	// uncordoned, or restarted without having been cordoned, and with which version.
	Cordon struct {
		Node     string `json:"node"`
		Undo     bool   `json:"undo,omitempty"`
		For      string `json:"for,omitempty"`
		Remember string `json:"remember,omitempty"`
	}

	// Drain evicts the pods of a node as kubectl drain does. It deletes a pod that may not be
	// evicted only with DisableEviction. Pods of DaemonSets and mirror pods stay. The error at the
	// deadline names the pods that are left.
	Drain struct {
		Node               string        `json:"node"`
		Timeout            time.Duration `json:"timeout"`
		GracePeriod        int           `json:"grace_period"`
		Force              bool          `json:"force,omitempty"`
		DeleteEmptyDirData bool          `json:"delete_emptydir_data,omitempty"`
		DisableEviction    bool          `json:"disable_eviction,omitempty"`
		PodSelector        string        `json:"pod_selector,omitempty"`
		// SkipWait, when not 0, is how long a pod may have been terminating for the drain to wait
		// for it.
		SkipWait time.Duration `json:"skip_wait,omitempty"`
		// Uncordon makes the node schedulable again when the drain fails.
		Uncordon bool `json:"uncordon,omitempty"`
	}

	// CreateToken creates a bootstrap token. Without an ID the token is for this run, and its
	// secret output token holds all of it. With an ID the token is permanent: Token is its secret
	// half, or empty to generate one; an existing token keeps its generated half. Expires is RFC
	// 3339 and excludes TTL; without both the token never expires.
	CreateToken struct {
		ID          string          `json:"id,omitempty"`
		Token       state.Sensitive `json:"token,omitzero"`
		Expires     string          `json:"expires,omitempty"`
		Description string          `json:"description"`
		TTL         time.Duration   `json:"ttl"`
		Usages      []string        `json:"usages"`
		Groups      []string        `json:"groups"`
	}

	// UploadCerts encrypts files of the step's node with a certificate key and stores them in the
	// Secret kubeadm-certs, until the TTL of the owning token is over. A missing key is generated:
	// the secret output certificate_key.
	UploadCerts struct {
		Files []UploadedFile  `json:"files"`
		Key   state.Sensitive `json:"key,omitzero"`
		TTL   time.Duration   `json:"ttl"`
	}

	// UploadedFile is a file and its key in the Secret. A file that does not exist is uploaded
	// empty.
	UploadedFile struct {
		Key  string `json:"key"`
		Path string `json:"path"`
	}

	// DeleteToken deletes the token that another step of this plan created.
	DeleteToken struct {
		Token state.Pending `json:"token"`
	}

	// DeleteJoinTokens deletes all tokens that were created for a join (IsJoinToken), by this run
	// or an earlier one, except those with the IDs in Keep.
	DeleteJoinTokens struct {
		Keep []string `json:"keep,omitempty"`
	}
)

// CordonAnnotation is the annotation of a node that kubewright cordoned, with the purpose:
// Cordon.For.
const CordonAnnotation = "kubewright.github.io/cordoned-for"

// CordonConfigured is the purpose of a cordon that the configuration asks for.
const CordonConfigured = "configuration"

// LetInAnnotation is the annotation of a node whose upgrade is followed by a pause: when it was
// uncordoned (RFC 3339, UTC), a space, and the version of its kubelet. An interrupted pause
// continues from there.
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
	SystemUser{},
	Swap{},
	RemovePods{},
	Unmount{},
	RemoveNetwork{},
	RemoveProxyRules{},
	Mark{},
	IssueCA{},
	IssueKeyPair{},
	WriteEncryption{},
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
	TakeBackup{},
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
	RewriteObjects{},
	Wait{},
}
