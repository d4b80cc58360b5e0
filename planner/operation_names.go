package planner

import (
	"cmp"
	"fmt"
	"strings"
)

// Op returns the name in JSON.
func (WriteFile) Op() string { return "write_file" }

// Summary returns one line for the progress display.
func (o WriteFile) Summary() string { return "write " + o.Path }

// Op returns the name in JSON.
func (RemovePath) Op() string { return "remove_path" }

// Summary returns one line for the progress display.
func (o RemovePath) Summary() string { return "remove " + o.Path }

// Op returns the name in JSON.
func (EnsureDirectory) Op() string { return "ensure_directory" }

// Summary returns one line for the progress display.
func (o EnsureDirectory) Summary() string { return "make folder " + o.Path }

// Op returns the name in JSON.
func (UploadArtifact) Op() string { return "upload_artifact" }

// Summary returns one line for the progress display.
func (o UploadArtifact) Summary() string { return "upload " + o.Artifact }

// Op returns the name in JSON.
func (Preserve) Op() string { return "preserve" }

// Summary returns one line for the progress display.
func (o Preserve) Summary() string { return "keep the present " + o.Path }

// Op returns the name in JSON.
func (Restore) Op() string { return "restore" }

// Summary returns one line for the progress display.
func (o Restore) Summary() string { return "restore the previous " + o.Path }

// Op returns the name in JSON.
func (LoadImage) Op() string { return "load_image" }

// Summary returns one line for the progress display.
func (o LoadImage) Summary() string {
	summary := "load image " + o.Image
	if o.Artifact == "" {
		summary = "pull image " + o.Image
	}
	if len(o.Others) > 0 {
		summary += fmt.Sprintf(" and %d more", len(o.Others))
	}
	return summary
}

// Op returns the name in JSON.
func (Unit) Op() string { return "unit" }

// Summary returns one line for the progress display.
func (o Unit) Summary() string {
	if o.Action == DaemonReload {
		return o.Action
	}
	return o.Action + " " + o.Unit
}

// Op returns the name in JSON.
func (RestartProcess) Op() string { return "restart_process" }

// Summary returns one line for the progress display.
func (o RestartProcess) Summary() string { return "restart " + o.Process.Name }

// Op returns the name in JSON.
func (SetSysctl) Op() string { return "set_sysctl" }

// Summary returns one line for the progress display.
func (o SetSysctl) Summary() string { return "set " + o.Name + "=" + o.Value }

// Op returns the name in JSON.
func (LoadModule) Op() string { return "load_module" }

// Summary returns one line for the progress display.
func (o LoadModule) Summary() string { return loadModuleSummary(o) }

// Op returns the name in JSON.
func (SystemUser) Op() string { return "system_user" }

// Summary returns one line for the progress display.
func (o SystemUser) Summary() string { return systemUserSummary(o) }

// Op returns the name in JSON.
func (Swap) Op() string { return "swap" }

// Summary returns one line for the progress display.
func (o Swap) Summary() string { return swapSummary(o) }

// Op returns the name in JSON.
func (RemovePods) Op() string { return "remove_pods" }

// Summary returns one line for the progress display.
func (RemovePods) Summary() string { return "remove all containers" }

// Op returns the name in JSON.
func (Unmount) Op() string { return "unmount" }

// Summary returns one line for the progress display.
func (o Unmount) Summary() string { return "unmount below " + o.Below }

// Op returns the name in JSON.
func (RemoveNetwork) Op() string { return "remove_network" }

// Summary returns one line for the progress display.
func (RemoveNetwork) Summary() string { return "remove links and firewall rules of Kubernetes" }

// Op returns the name in JSON.
func (RemoveProxyRules) Op() string { return "remove_proxy_rules" }

// Summary returns one line for the progress display.
func (o RemoveProxyRules) Summary() string {
	return "remove what kube-proxy left in mode " + o.Mode
}

// Op returns the name in JSON.
func (Mark) Op() string { return "mark" }

// Summary returns one line for the progress display.
func (o Mark) Summary() string { return markSummary(o) }

// Op returns the name in JSON.
func (IssueCA) Op() string { return "issue_ca" }

// Summary returns one line for the progress display.
func (o IssueCA) Summary() string { return "issue CA " + o.CommonName }

// Op returns the name in JSON.
func (IssueKeyPair) Op() string { return "issue_key_pair" }

// Summary returns one line for the progress display.
func (o IssueKeyPair) Summary() string { return "make key pair " + o.To }

// Op returns the name in JSON.
func (CopySecrets) Op() string { return "copy_secrets" }

// Summary returns one line for the progress display.
func (o CopySecrets) Summary() string { return "copy CAs and keys from " + o.From.String() }

// Op returns the name in JSON.
func (BundleTrust) Op() string { return "bundle_trust" }

// Summary returns one line for the progress display.
func (o BundleTrust) Summary() string { return "write " + o.To }

// Op returns the name in JSON.
func (ImportSecrets) Op() string { return "import_secrets" }

// Summary returns one line for the progress display.
func (ImportSecrets) Summary() string { return "install the operator's certificates and keys" }

// Op returns the name in JSON.
func (IssueCertificate) Op() string { return "issue_certificate" }

// Summary returns one line for the progress display.
func (o IssueCertificate) Summary() string { return "issue certificate " + o.To + ".crt" }

// Op returns the name in JSON.
func (WriteKubeconfig) Op() string { return "write_kubeconfig" }

// Summary returns one line for the progress display.
func (o WriteKubeconfig) Summary() string { return "write " + o.Path }

// Op returns the name in JSON.
func (SetKubeconfig) Op() string { return "set_kubeconfig" }

// Summary returns one line for the progress display.
func (o SetKubeconfig) Summary() string { return "change " + o.Path }

// Op returns the name in JSON.
func (AddEtcdMember) Op() string { return "add_etcd_member" }

// Summary returns one line for the progress display.
func (o AddEtcdMember) Summary() string { return "add etcd learner " + o.Name }

// Op returns the name in JSON.
func (RenderEtcdManifest) Op() string { return "render_etcd_manifest" }

// Summary returns one line for the progress display.
func (o RenderEtcdManifest) Summary() string { return "write " + o.Path }

// Op returns the name in JSON.
func (PromoteEtcdMember) Op() string { return "promote_etcd_member" }

// Summary returns one line for the progress display.
func (o PromoteEtcdMember) Summary() string { return "promote etcd member " + o.PeerURL }

// Op returns the name in JSON.
func (RemoveEtcdMember) Op() string { return "remove_etcd_member" }

// Summary returns one line for the progress display.
func (o RemoveEtcdMember) Summary() string { return "remove etcd member " + o.Name }

// Op returns the name in JSON.
func (ApplyObject) Op() string { return "apply_object" }

// Summary returns one line for the progress display.
func (o ApplyObject) Summary() string {
	return "apply " + o.Object.Get("kind").AsString() + " " + o.Object.Get("metadata.name").AsString()
}

// Op returns the name in JSON.
func (DeleteObject) Op() string { return "delete_object" }

// Summary returns one line for the progress display.
func (o DeleteObject) Summary() string { return "delete " + o.Ref.String() }

// Op returns the name in JSON.
func (PatchNode) Op() string { return "patch_node" }

// Summary returns one line for the progress display.
func (o PatchNode) Summary() string { return patchSummary(o) }

// Op returns the name in JSON.
func (Cordon) Op() string { return "cordon" }

// Summary returns one line for the progress display.
func (o Cordon) Summary() string { return cordonSummary(o) }

// Op returns the name in JSON.
func (Drain) Op() string { return "drain" }

// Summary returns one line for the progress display.
func (o Drain) Summary() string { return "drain node " + o.Node }

// Op returns the name in JSON.
func (CreateToken) Op() string { return "create_token" }

// Summary returns one line for the progress display.
func (o CreateToken) Summary() string { return strings.TrimSpace("make a bootstrap token " + o.ID) }

// Op returns the name in JSON.
func (UploadCerts) Op() string { return "upload_certs" }

// Summary returns one line for the progress display.
func (UploadCerts) Summary() string { return "upload encrypted certificates" }

// Op returns the name in JSON.
func (DeleteToken) Op() string { return "delete_token" }

// Summary returns one line for the progress display.
func (DeleteToken) Summary() string { return "delete the bootstrap token" }

// Op returns the name in JSON.
func (DeleteJoinTokens) Op() string { return "delete_join_tokens" }

// Summary returns one line for the progress display.
func (DeleteJoinTokens) Summary() string { return "delete leftover bootstrap tokens for joining" }

// Op returns the name in JSON.
func (Wait) Op() string { return "wait" }

// Summary returns one line for the progress display.
func (o Wait) Summary() string { return waitSummary(o) }

func loadModuleSummary(o LoadModule) string {
	if o.Unload {
		return "unload module " + o.Module
	}
	return "load module " + o.Module
}

// What SystemUser does not remove.
const (
	KeepUser  = "user"
	KeepGroup = "group"
)

func systemUserSummary(o SystemUser) string {
	switch {
	case !o.Remove:
		return "create the system user " + o.Name
	case o.Keep == KeepUser:
		return "remove the group " + o.Name
	}
	return "remove the user " + o.Name
}

// The behaviour of swap at boot after an operation: it stays off, or is on again.
const (
	SwapStaysOff = "off"
	SwapReturns  = "on"
)

// SwapTarget is the unit that makes systemd turn on at boot the swap of fstab, partition tables and
// generators. While it is masked, nothing pulls in that swap.
const SwapTarget = "swap.target"

func swapSummary(o Swap) string {
	switch {
	case o.On:
		return "turn swap on again"
	case o.Boot == SwapStaysOff:
		return "turn swap off, and mask " + SwapTarget
	case o.Boot == SwapReturns:
		return "unmask " + SwapTarget
	}
	return "turn swap off"
}

func markSummary(o Mark) string {
	if o.Remove {
		return "remove kubewright's marks from the host"
	}
	return "mark the host as part of cluster " + o.Marks.Cluster
}

func patchSummary(o PatchNode) string {
	sealed := func(what string) bool {
		for path := range o.Sealed {
			if strings.HasPrefix(path, what) {
				return true
			}
		}
		return false
	}
	var does []string
	for _, part := range []struct {
		verb string
		has  bool
	}{
		{"uncordon", o.Schedulable != nil && *o.Schedulable},
		{"cordon", o.Schedulable != nil && !*o.Schedulable},
		{"label", len(o.Labels)+len(o.RemoveLabels) > 0 || sealed("labels")},
		{"annotate", len(o.Annotations)+len(o.RemoveAnnotations) > 0 || sealed("annotations")},
		{"taint", len(o.Taints)+len(o.RemoveTaints) > 0},
	} {
		if part.has {
			does = append(does, part.verb)
		}
	}
	if n := len(does); n > 1 {
		does = append(does[:n-2], does[n-2]+" and "+does[n-1])
	}
	return cmp.Or(strings.Join(does, ", "), "change") + " node " + o.Node
}

func cordonSummary(o Cordon) string {
	if o.Undo {
		return "uncordon node " + o.Node
	}
	return "cordon node " + o.Node
}

func waitSummary(o Wait) string {
	switch o.For {
	case WaitHTTP:
		return "wait for " + o.URL
	case WaitClosed:
		return "wait until no server answers at " + o.URL
	case WaitAPI:
		return "wait for the API"
	case WaitStaticPod:
		return "wait for pod " + o.Name
	case WaitNodeRegistered:
		return "wait for node " + o.Name + " to register"
	case WaitNodeReady:
		if o.Version != "" {
			return "wait for node " + o.Name + " to be ready with kubelet " + o.Version
		}
		return "wait for node " + o.Name + " to be ready"
	case WaitPause:
		return fmt.Sprintf("wait until node %s has been back for %s", o.Name, o.Pause)
	case WaitFile:
		return "wait for " + o.Name
	case WaitRestarted:
		return "wait for " + o.Process.Name + " to be restarted"
	case WaitServed:
		return "wait for " + o.Name + " to be served at " + o.URL
	case WaitRootCA:
		return "wait until every namespace has the CAs of " + o.Name
	case WaitEtcdStarted:
		return "wait for etcd member " + o.Name
	case WaitEncryption:
		return "wait until the API server has loaded " + o.Name
	}
	return fmt.Sprintf("wait for %s", o.For)
}
