package viewtest

import (
	"encoding/json"
	"testing"
)

// TestFixturesMatchSavedPlans checks the fixtures against their saved plans.
func TestFixturesMatchSavedPlans(t *testing.T) {
	for name, fixture := range Plans {
		b, err := json.MarshalIndent(fixture(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		Golden(t, name+".plan.json", string(b)+"\n")
	}
}
