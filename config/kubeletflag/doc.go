// Package kubeletflag knows which flags of the kubelet override which fields of its configuration
// (cmd/kubelet/app/options: AddKubeletConfigFlags), and reads their values as those of the fields.
//
// It checks nothing: what holds for a field holds for its flag as well.
package kubeletflag
