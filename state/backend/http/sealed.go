package http

import "encoding/json"

// sealed is how a state that is encrypted is sent. Servers may read what they keep, as
// GitLab does: it takes JSON alone, and the version's number from the serial in it.
type sealed struct {
	Serial *int64  `json:"serial"`
	Sealed *[]byte `json:"sealed"`
}

// wrap returns a state as it is sent: what a server can read as it is.
func wrap(data []byte, serial int64) ([]byte, error) {
	var plain sealed
	if json.Unmarshal(data, &plain) == nil && plain.Serial != nil && plain.Sealed == nil {
		return data, nil
	}
	return json.Marshal(sealed{&serial, &data})
}

// unwrap returns the state in what a server keeps, which may be from before it was wrapped.
func unwrap(body []byte) []byte {
	var kept sealed
	if json.Unmarshal(body, &kept) != nil || kept.Sealed == nil {
		return body
	}
	return *kept.Sealed
}
