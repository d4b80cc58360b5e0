package http

import (
	"encoding/json"
	"testing"

	"github.com/kubewright/kubewright/state/backend"
)

// FuzzReadHolder checks that any answer of a server yields either no holder or a holder with a
// run ID, and that a document of this backend is read back completely.
func FuzzReadHolder(f *testing.F) {
	b := &Backend{settings: backend.Settings{"address": "https://gitlab.example.com/state"}}
	f.Add(b.document(backend.LockInfo{ID: "b71e", Who: "ada@laptop", PID: 4711, Operation: "apply"}))
	f.Add(b.document(backend.LockInfo{ID: "b71e"}))
	f.Add([]byte(`{"ID":"9e1c","Operation":"OperationTypeApply","Info":"","Who":"ci@runner","Version":"1.9.0","Created":"2026-03-02T09:00:00.123456789Z","Path":""}`))
	for _, s := range []string{"", "null", "{}", `{"ID":""}`, `{"ID":1}`, `{"id":"a","Info":"pid -1"}`, `{"ID":"a","Info":"pid 99999999999999999999"}`, `{"ID":"a","Created":"yesterday"}`, "<html>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		i := readHolder(body)
		if i == nil {
			return
		}
		if i.ID == "" || i.String() == (backend.LockInfo{}).String() {
			t.Errorf("%q was read as a holder without a run: %+v", body, i)
		}
		again := readHolder(b.document(*i))
		if again == nil || again.ID != i.ID || again.PID != i.PID || !again.Time.Equal(i.Time) || i.Who != "" && again.Who != i.Who || i.Operation != "" && again.Operation != i.Operation {
			got, _ := json.Marshal(again)
			t.Errorf("the document of %+v reads back as %s", *i, got)
		}
	})
}
