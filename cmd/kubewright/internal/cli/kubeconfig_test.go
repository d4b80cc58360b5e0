package cli

import (
	"testing"

	"github.com/kubewright/kubewright/config"
)

// TestChosenCluster: the only cluster is meant without a name, of several one is named.
func TestChosenCluster(t *testing.T) {
	t.Parallel()
	none, one := &config.Config{}, &config.Config{Clusters: []*config.Cluster{{Label: "blue"}}}
	two := &config.Config{Clusters: []*config.Cluster{{Label: "blue"}, {Label: "green"}}}
	for _, c := range []struct {
		config *config.Config
		label  string
		want   string
	}{
		{one, "", "blue"},
		{two, "green", "green"},
		{none, "", "error: No cluster: The configuration has no cluster block."},
		{none, "blue", "error: No cluster: The configuration has no cluster block."},
		{one, "bleu", `error: Unknown cluster: The configuration has no cluster "bleu". Did you mean blue? It has blue.`},
		{two, "", "error: Which cluster?: The configuration has 2 clusters: blue, green. Name one behind the command."},
	} {
		got := ""
		if chosen, which := chosenCluster(c.config, c.label, byArgument); which != nil {
			got = which.String()
		} else {
			got = chosen.Label
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.label, got, c.want)
		}
	}
}
