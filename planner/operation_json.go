package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Operations is a list that keeps each operation's type in JSON.
type Operations []Operation

// MarshalJSON writes each operation as an object whose first keys are op and done_when. An
// operation without a done condition has no such key.
func (ops Operations) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, len(ops))
	for i, op := range ops {
		body, err := json.Marshal(op)
		if err != nil {
			return nil, err
		}
		head := fmt.Sprintf(`{"op":%q`, op.Op())
		if done := op.DoneWhen(); done != "" {
			head += fmt.Sprintf(`,"done_when":%q`, done)
		}
		if string(body) != "{}" {
			head += ","
		}
		out[i] = append([]byte(head), body[1:]...)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes and refuses an unknown operation or key. It ignores
// done_when, which follows from the other fields.
func (ops *Operations) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*ops = make(Operations, 0, len(raw))
	for _, r := range raw {
		var head struct {
			Op string `json:"op"`
		}
		if err := json.Unmarshal(r, &head); err != nil {
			return err
		}
		op, err := decodeOperation(head.Op, r)
		if err != nil {
			return err
		}
		*ops = append(*ops, op)
	}
	return nil
}

// decodeFields decodes the object of an operation without op and done_when, and refuses keys that
// the operation does not have: what they ask for would not be done.
func decodeFields(body json.RawMessage, operation any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	delete(fields, "op")
	delete(fields, "done_when")
	own, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(own))
	dec.DisallowUnknownFields()
	return dec.Decode(operation)
}

func decodeOperation(name string, body json.RawMessage) (Operation, error) {
	for _, zero := range operations {
		if zero.Op() != name {
			continue
		}
		p := reflect.New(reflect.TypeOf(zero))
		if err := decodeFields(body, p.Interface()); err != nil {
			return nil, fmt.Errorf("cannot read operation %s: %w", name, err)
		}
		return p.Elem().Interface().(Operation), nil
	}
	return nil, fmt.Errorf("cannot read operation %q: this version of kubewright does not support it", name)
}
