package planner

import "strings"

// DoneNever is the beginning of DoneWhen for operations that are performed without a check.
const DoneNever = "never: it is done again each time"

// whereSo follows DoneNever where a repetition has no effect.
const whereSo = ", without effect where all is so already"

// DoneWhen returns the condition under which the operation is already done.
func (WriteFile) DoneWhen() string { return "the file has this content, mode and owner" }

// DoneWhen returns the condition under which the operation is already done.
func (o RemovePath) DoneWhen() string {
	if o.ContentsOnly {
		return "the folder is empty or absent"
	}
	return "the path does not exist, or is an empty mount point"
}

// DoneWhen returns the condition under which the operation is already done.
func (EnsureDirectory) DoneWhen() string { return "the folder is there with this mode and owner" }

// DoneWhen returns the condition under which the operation is already done.
func (SetAccess) DoneWhen() string { return "the file has this mode and owner" }

// DoneWhen returns the condition under which the operation is already done.
func (UploadArtifact) DoneWhen() string {
	return "each of the files has this content and mode, and is root's"
}

// DoneWhen returns the condition under which the operation is already done.
func (o Preserve) DoneWhen() string {
	if o.Any {
		return "what the path was is preserved already"
	}
	return "the path was preserved already, or does not exist"
}

// DoneWhen returns the condition under which the operation is already done.
func (Restore) DoneWhen() string { return "nothing is preserved of the path" }

// DoneWhen returns the condition under which the operation is already done.
func (o Packages) DoneWhen() string { return packagesDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o LoadImage) DoneWhen() string { return loadImageDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o Unit) DoneWhen() string { return unitDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (RestartProcess) DoneWhen() string {
	return "the process does not run, or was started after the last of these files was written"
}

// DoneWhen returns the condition under which the operation is already done.
func (o SetSysctl) DoneWhen() string {
	if o.Restore {
		return "the kernel parameter has this value, or the kernel does not have it"
	}
	return "the kernel parameter has this value"
}

// DoneWhen returns the condition under which the operation is already done.
func (o LoadModule) DoneWhen() string {
	if o.Unload {
		return "the kernel does not have the module, or something uses it"
	}
	return "the kernel has the module"
}

// DoneWhen returns the condition under which the operation is already done.
func (o SystemUser) DoneWhen() string {
	if o.Remove {
		return "the user and its group do not exist, or something else uses them"
	}
	return "the user and its group exist"
}

// DoneWhen returns the condition under which the operation is already done.
func (o Swap) DoneWhen() string { return swapDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (RemovePods) DoneWhen() string {
	return "the runtime has no pods, and kubepods.slice is not active"
}

// DoneWhen returns the condition under which the operation is already done.
func (Unmount) DoneWhen() string { return "nothing is mounted below the folder" }

// DoneWhen returns the condition under which the operation is already done.
func (o RemoveNetwork) DoneWhen() string {
	rest := "no network namespace or firewall rule of Kubernetes or CNI is left, and no empty table of iptables"
	if len(o.Links) > 0 {
		return "none of these links is there, and " + rest
	}
	return rest
}

// DoneWhen returns the condition under which the operation is already done.
func (o RemoveProxyRules) DoneWhen() string {
	if o.Mode == ProxyIPVS {
		return "no link, chain or set of addresses of this mode is left"
	}
	return "no chain of this mode is left"
}

// DoneWhen returns the condition under which the operation is already done.
func (o Mark) DoneWhen() string { return markDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o IssueCA) DoneWhen() string {
	if o.Renew {
		return DoneNever
	}
	return "the certificate exists"
}

// DoneWhen returns the condition under which the operation is already done.
func (IssueKeyPair) DoneWhen() string {
	return "the private key exists, and beside it its public key, root's with mode 0600"
}

// DoneWhen returns the condition under which the operation is already done.
func (CopySecrets) DoneWhen() string {
	return "each file has the content that it has on the other node, and this mode and owner"
}

// DoneWhen returns the condition under which the operation is already done.
func (o BundleTrust) DoneWhen() string {
	if strings.HasSuffix(o.To, ".pub") {
		return "the file holds the first public key of each of the files, each once, and nothing else"
	}
	return "the file holds the first certificate of each of the files, each once, and nothing else"
}

// DoneWhen returns the condition under which the operation is already done.
func (ImportSecrets) DoneWhen() string {
	return "each file has the content that the operator provides, and this mode and owner"
}

// DoneWhen returns the condition under which the operation is already done.
func (o IssueCertificate) DoneWhen() string {
	if o.Renew {
		return DoneNever
	}
	return "the certificate exists"
}

// DoneWhen returns the condition under which the operation is already done.
func (o WriteKubeconfig) DoneWhen() string { return writeKubeconfigDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o SetKubeconfig) DoneWhen() string { return setKubeconfigDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (AddEtcdMember) DoneWhen() string { return "a member has the peer URL" }

// DoneWhen returns the condition under which the operation is already done.
func (RenderEtcdManifest) DoneWhen() string {
	return "the file has this content with the members that etcd has now, and this mode and owner"
}

// DoneWhen returns the condition under which the operation is already done.
func (PromoteEtcdMember) DoneWhen() string { return "the member with the peer URL is a voter" }

// DoneWhen returns the condition under which the operation is already done.
func (RemoveEtcdMember) DoneWhen() string { return "no member has the peer URL" }

// DoneWhen returns the condition under which the operation is already done.
func (o SnapshotEtcd) DoneWhen() string {
	if o.MaxAge > 0 {
		return "the interrupted plan has left a whole snapshot of this etcd that is younger than max_age"
	}
	return DoneNever
}

// DoneWhen returns the condition under which the operation is already done.
func (CompactEtcd) DoneWhen() string { return DoneNever }

// DoneWhen returns the condition under which the operation is already done.
func (DefragmentEtcd) DoneWhen() string { return DoneNever }

// DoneWhen returns the condition under which the operation is already done.
func (MoveEtcdLeader) DoneWhen() string { return "the member does not lead" }

// DoneWhen returns the condition under which the operation is already done.
func (DisarmEtcd) DoneWhen() string { return "no member has the alarm" }

// DoneWhen returns the condition under which the operation is already done.
func (SetAsideEtcd) DoneWhen() string { return "the folder holds no data of a member" }

// DoneWhen returns the condition under which the operation is already done.
func (RestoreEtcd) DoneWhen() string {
	return "the folder holds data of a member, and the host records that it was restored from this snapshot"
}

// DoneWhen returns the condition under which the operation is already done.
func (o ApplyObject) DoneWhen() string {
	if o.CreateOnly {
		return "the object exists"
	}
	return DoneNever + whereSo
}

// DoneWhen returns the condition under which the operation is already done.
func (DeleteObject) DoneWhen() string { return "the object does not exist" }

// DoneWhen returns the condition under which the operation is already done.
func (o PatchNode) DoneWhen() string { return patchNodeDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o RestartPods) DoneWhen() string {
	if o.Mark == "" {
		return "all of its pods have the current template and run, or there is no such object"
	}
	return "all of its pods carry the mark and run, or there is no such object"
}

// DoneWhen returns the condition under which the operation is already done.
func (o Cordon) DoneWhen() string { return cordonDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o Drain) DoneWhen() string { return drainDone(o) }

// DoneWhen returns the condition under which the operation is already done.
func (o CreateToken) DoneWhen() string {
	if o.ID != "" && o.TTL == 0 {
		return DoneNever + whereSo
	}
	return DoneNever
}

// DoneWhen returns the condition under which the operation is already done.
func (UploadCerts) DoneWhen() string { return DoneNever }

// DoneWhen returns the condition under which the operation is already done.
func (DeleteToken) DoneWhen() string {
	return "the token does not exist, or this run has not created it"
}

// DoneWhen returns the condition under which the operation is already done.
func (DeleteJoinTokens) DoneWhen() string { return "there is no token for joining" }

// DoneWhen returns the condition under which the operation is already done.
func (o Wait) DoneWhen() string { return waitDone(o) }

// packagesDone returns the clause of Packages. dnf has no holds, and removes dependencies by
// itself.
func packagesDone(o Packages) string {
	apt := o.Manager != "dnf"
	switch {
	case o.Remove && apt:
		return "none of the packages is installed, nor what was installed for them alone"
	case o.Remove:
		return "none of the packages is installed"
	case apt:
		return "each package is installed, in the version listed if any, and held as listed"
	}
	return "each package is installed, in the version listed if any"
}

func loadImageDone(o LoadImage) string {
	switch {
	case o.Artifact == "" && o.Policy == "Always":
		return DoneNever
	case len(o.Others) > 0:
		return "the runtime has all of the images"
	}
	return "the runtime has the image"
}

func unitDone(o Unit) string {
	done := "the unit is as the action leaves it"
	switch o.Action {
	case "start":
		done = "the unit is active"
	case "stop":
		done = "the unit is inactive or failed"
	case "enable":
		done = "systemctl is-enabled succeeds for the unit"
	case "disable":
		done = "the unit is not enabled"
	case "restart":
		return DoneNever
	case DaemonReload:
		return DoneNever + whereSo
	}
	if o.Reload {
		done += "; the daemon-reload before is done again each time"
	}
	return done
}

func swapDone(o Swap) string {
	done := "no swap is in use"
	if o.On {
		done = "swap is in use"
	}
	switch o.Boot {
	case SwapStaysOff:
		done += ", and " + SwapTarget + " is masked"
	case SwapReturns:
		done += ", and " + SwapTarget + " is not masked"
	}
	return done
}

// markDone returns the clause of Mark: a run records its own token, so the next run writes again.
func markDone(o Mark) string {
	switch {
	case o.Remove:
		return DoneNever
	case o.CA != "":
		return "the host's mark says this, the CA that is in the file, and the lineage and token of this run"
	}
	return "the host's mark says this, and the lineage and token of this run"
}

// writeKubeconfigDone returns the clause of WriteKubeconfig. A kubeconfig with a token is always
// compared, because an existing file does not show whether its token is still valid.
func writeKubeconfigDone(o WriteKubeconfig) string {
	switch {
	case o.Token != nil:
		return "the file is this kubeconfig with this token, root's with mode 0600"
	case o.Renew:
		return DoneNever
	}
	return "the file exists"
}

func setKubeconfigDone(o SetKubeconfig) string {
	var parts []string
	if o.Server != "" {
		parts = append(parts, "has this server")
	}
	if o.Trust != "" {
		parts = append(parts, "trusts what is in the trust file")
	}
	if o.ClientCertificate != "" {
		parts = append(parts, "takes certificate and key from the client certificate's path")
	}
	if len(parts) == 0 {
		return "the kubeconfig exists"
	}
	return "the kubeconfig " + strings.Join(parts, ", and ")
}

func patchNodeDone(o PatchNode) string {
	if o.Schedulable != nil {
		rest := o
		rest.Schedulable = nil
		text := map[bool]string{true: "the node is schedulable", false: "the node is unschedulable, as the configuration says"}[*o.Schedulable]
		if done := patchNodeDone(rest); done != "the node exists" {
			text += ", and " + done
		}
		return text
	}
	sets := len(o.Labels)+len(o.Annotations)+len(o.Taints)+len(o.Sealed) > 0
	removes := len(o.RemoveLabels)+len(o.RemoveAnnotations)+len(o.RemoveTaints) > 0
	switch {
	case sets && removes:
		return "the node has these labels, annotations and taints, and none of those to be removed"
	case sets:
		return "the node has these labels, annotations and taints"
	case removes:
		return "the node has none of the labels, annotations and taints to be removed"
	}
	return "the node exists"
}

func cordonDone(o Cordon) string {
	switch {
	case !o.Undo && o.For == "":
		return "the node is unschedulable"
	case !o.Undo:
		return "the node is unschedulable, no matter who cordoned it"
	case o.For != "":
		return "the node does not record that it was cordoned for this"
	case o.Remember != "":
		return DoneNever
	}
	return DoneNever + whereSo
}

func drainDone(o Drain) string {
	pods, left := "no pod", "those of DaemonSets and mirror pods"
	if o.PodSelector != "" {
		pods = "no pod that the selector matches"
	}
	if o.SkipWait > 0 {
		left = "those of DaemonSets, mirror pods, and those terminating for longer than skip_wait"
	}
	return pods + " is left on the node but " + left
}

func waitDone(o Wait) string {
	switch o.For {
	case WaitHTTP:
		return "the URL answers 200"
	case WaitClosed:
		return "no server answers at the URL"
	case WaitAPI:
		return "the API reports through this node that it is ready"
	case WaitPause:
		return "the node was uncordoned with this version at least one pause ago, or at an unknown time"
	case WaitServed:
		return "the certificate in the file is the one that is served at the URL"
	case WaitRootCA:
		return "kube-root-ca.crt of every namespace holds the certificates in the file"
	case WaitEtcdStarted:
		return "a member of etcd that has started has this name"
	case WaitEncryption:
		return "the metric of the node's API server has the hash of the file"
	}
	return waitVariantDone(o)
}

// waitVariantDone returns the clause of conditions that further fields make stricter.
func waitVariantDone(o Wait) string {
	done, more := "the condition holds", ""
	switch {
	case o.For == WaitStaticPod:
		done = "the pod runs and is ready"
		if o.Hash+o.HashRef != "" {
			done = "the pod runs this manifest and is ready"
		}
	case o.For == WaitNodeRegistered:
		done, more = "the node exists", o.Version
	case o.For == WaitNodeReady:
		done, more = "the node is ready", o.Version
		if o.Process.Name != "" {
			done = "the node is ready, and its running kubelet has reported that"
		}
	case o.For == WaitFile && len(o.Files) > 0:
		done = "the file exists, and was not written before the others"
	case o.For == WaitFile:
		done = "the file exists"
	case o.For == WaitRestarted && len(o.Files) > 0:
		done = "the process runs, and was started after the files were written"
	case o.For == WaitRestarted:
		done = "the process runs"
	}
	if more != "" {
		done += ", and its kubelet has this version"
	}
	return done
}
