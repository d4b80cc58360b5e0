package topology

// Part is what of the software a file belongs to, in the words of install.keep.
type Part string

const (
	RuntimePart Part = "runtime"
	KubeletPart Part = "kubelet"
	CNIPart     Part = "cni"
	ImagesPart  Part = "images"
	// ToolsPart is what nothing rests on; it goes with the kubelet.
	ToolsPart Part = "tools"
)

const KeptPart = "keep:" // what install.keep named
