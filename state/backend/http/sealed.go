package http

import "encoding/json"

// sealed is the form in which an encrypted state is sent. Servers may parse states, as GitLab
// does: it accepts only JSON, and takes the version's number from the serial in it.
type sealed struct {
	Serial *int64  `json:"serial"`
	Sealed *[]byte `json:"sealed"`
}

// wrap returns a state in the form in which it is sent: a document that the server can parse.
func wrap(data []byte, serial int64) ([]byte, error) {
	var plain sealed
	if json.Unmarshal(data, &plain) == nil && plain.Serial != nil && plain.Sealed == nil {
		return data, nil
	}
	return json.Marshal(sealed{&serial, &data})
}

// unwrap returns the state in a stored document, which may predate wrapping.
func unwrap(body []byte) []byte {
	var kept sealed
	if json.Unmarshal(body, &kept) != nil || kept.Sealed == nil {
		return body
	}
	return *kept.Sealed
}
