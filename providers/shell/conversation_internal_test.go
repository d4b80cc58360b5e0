package shell

import (
	"io"
	"strings"
	"testing"
)

// TestUploadRefusesFileThatChangesSize checks that a file that becomes longer, or shorter, than its
// announced size is not sent as if it were something else.
func TestUploadRefusesFileThatChangesSize(t *testing.T) {
	t.Parallel()
	for said, want := range map[int64]string{4: "", 3: "a file has grown while it was sent", 5: io.ErrUnexpectedEOF.Error()} {
		in := &input{}
		in.add(frame{said, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("four")), nil }}, bytesFrame([]byte(", next")))
		sent, err := io.ReadAll(in)
		if want == "" && (err != nil || string(sent) != "four, next") || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("announced as %d bytes: sent %q, %v", said, sent, err)
		}
	}
}
