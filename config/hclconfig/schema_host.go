package hclconfig

// kernelModules returns the row of the modules of hosts.
func kernelModules(which string) Attribute {
	return Attribute{
		Name: "kernel_modules", Type: typeStrings, Cost: CostObject,
		Doc: "Kernel modules " + which + ", loaded now and at each boot, such as `br_netfilter` for flannel and other networks of bridges. kubeadm asks for none. " +
			"One that is not listed any more stays loaded until the next boot; a host that is given back has those loaded that were before.",
	}
}

// sysctls returns the row of the kernel parameters of hosts.
func sysctls(which string) Attribute {
	return Attribute{
		Name: "sysctls", Type: typeStringMap, Cost: CostObject,
		Doc: "Kernel parameters " + which + ", by their names with dots or slashes, as in `{ \"vm.max_map_count\" = \"262144\" }`: set now and at each boot, after the modules are loaded. " +
			"One that is taken out, or whose host is given back, gets the value that it had before. Values that Kubernetes needs otherwise are refused.",
	}
}
