package sim

import "github.com/kubewright/kubewright/planner"

// printed returns what the commands of an operation print while they run, in the words of
// the real ones: of those operations of which planner.Tells.
func printed(op planner.Operation) []string {
	switch op := op.(type) {
	case planner.LoadImage:
		if op.Artifact != "" {
			return []string{"unpacking " + op.Image + "...done"}
		}
		return []string{op.Image + ": resolving", "Image is up to date for " + op.Image}
	case planner.Packages:
		return printedOfPackages(op)
	case planner.RemovePods:
		return []string{"Stopped sandboxes", "Removed sandboxes"}
	}
	return nil
}

func printedOfPackages(op planner.Packages) []string {
	verb := "Setting up "
	if op.Remove {
		verb = "Removing "
	}
	var out []string
	for _, p := range op.List {
		name := p.Name
		if p.Version != "" {
			name += " (" + p.Version + ")"
		}
		out = append(out, verb+name+" ...")
	}
	return out
}
