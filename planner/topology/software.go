package topology

// Part is the part of the software that a file belongs to, in the words of install.keep.
type Part string

const (
	RuntimePart Part = "runtime"
	KubeletPart Part = "kubelet"
	CNIPart     Part = "cni"
	ImagesPart  Part = "images"
	// ToolsPart is software that nothing depends on; it is removed with the kubelet.
	ToolsPart Part = "tools"
)

const KeptPart = "keep:" // prefix in Marks.Before for the parts that install.keep names
