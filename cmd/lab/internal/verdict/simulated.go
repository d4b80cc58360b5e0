package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/config/componentflag"
)

// Simulated returns the verdicts of all versions as providers/sim/refusal reads them: what the
// simulated components refuse. It leaves out what depends on the host on which the components were
// asked, and what names its etcd member: of these the simulator has its own model.
func Simulated() (string, error) {
	versions, err := Versions()
	if err != nil {
		return "", err
	}
	type line struct {
		minors []string
		v      Verdict
	}
	var out strings.Builder
	var lines []line
	by := map[string]int{} // lines by their words but for the minors
	for _, r := range build.Releases() {
		fmt.Fprintf(&out, "%s\t%s\n", r.Minor(), r.Etcd)
	}
	for _, version := range versions {
		verdicts, err := Known(version)
		if err != nil {
			return "", err
		}
		minor := strings.Split(version, ".")[1]
		for _, v := range verdicts {
			if !v.simulated() {
				continue
			}
			words := v.placeless()
			if at, known := by[words]; known {
				lines[at].minors = append(lines[at].minors, minor)
				continue
			}
			by[words] = len(lines)
			lines = append(lines, line{[]string{minor}, v})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.v.Mutation.String(), b.v.Mutation.String()) })
	for _, l := range lines {
		fmt.Fprintf(&out, "%s\t%s", strings.Join(l.minors, ","), l.v.Mutation)
		if l.v.Answer == Refused {
			fmt.Fprintf(&out, "\t%s", l.v.Reason)
		}
		fmt.Fprintln(&out)
	}
	return out.String(), nil
}

// simulated reports whether the simulator reads a verdict.
func (v Verdict) simulated() bool {
	ofMember := slices.ContainsFunc(v.Mutation.Flags, func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return v.Mutation.Component == "etcd" && componentflag.OfMember(name)
	})
	empty := len(v.Mutation.Flags) == 0 && len(v.Mutation.Config) == 0
	decodes := !strings.Contains(v.Reason, "failed to decode") // a configuration that cannot be is none of the host's
	return v.Answer != Undecided && !ofMember && !empty && (v.Answer == Took || !decodes || hostAlone.find(v.Mutation, v.Reason) == "")
}
