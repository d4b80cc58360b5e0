package planner

import "slices"

// HostOperations returns one zero value of each operation that the host alone performs, for tests of
// what performs them.
func HostOperations() []Operation {
	return slices.DeleteFunc(slices.Clone(operations), func(op Operation) bool { return !IsHostOperation(op) })
}

// IsHostOperation reports whether the host alone performs the operation, so that it can share a
// round trip with its neighbours.
func IsHostOperation(op Operation) bool {
	switch op.(type) {
	case WriteFile, RemovePath, EnsureDirectory, SetAccess, UploadArtifact, Preserve, Restore, Packages, LoadImage, Unit,
		RestartProcess, SetSysctl, LoadModule, SystemUser, Swap, RemovePods, Unmount, RemoveNetwork, RemoveProxyRules, Mark, SetAsideEtcd, RestoreEtcd, TakeBackup:
		return true
	}
	return false
}

// IsKeyOperation reports whether the operation creates keys, certificates or kubeconfigs, or copies
// them between hosts, and writes them to the step's host.
func IsKeyOperation(op Operation) bool {
	switch op.(type) {
	case IssueCA, IssueKeyPair, IssueCertificate, WriteKubeconfig, SetKubeconfig, CopySecrets, BundleTrust, ImportSecrets, WriteEncryption:
		return true
	}
	return false
}

// Tells reports whether the output of the operation's commands may be shown while they run. The
// commands of most operations take no time, or handle secrets.
func Tells(op Operation) bool {
	switch op.(type) {
	case Packages, LoadImage, RemovePods:
		return true
	}
	return false
}

// WritesHost reports whether the operation writes to the host of its step. The run's token is
// written before the first such operation.
func WritesHost(op Operation) bool {
	_, manifest := op.(RenderEtcdManifest)
	return manifest || IsHostOperation(op) || IsKeyOperation(op)
}

// IsAPIOperation reports whether the operation writes to the API.
func IsAPIOperation(op Operation) bool {
	switch op.(type) {
	case ApplyObject, DeleteObject, PatchNode, RestartPods, Cordon, Drain, CreateToken, DeleteToken, DeleteJoinTokens, RewriteObjects:
		return true
	}
	return false
}
