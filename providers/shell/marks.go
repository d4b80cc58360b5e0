package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// tokenForm is the format of a run token on a host.
var tokenForm = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// marks parses kubewright's own files on the host. An unreadable one is reported as such:
// it is a finding for this host, and the rest of its report stays valid.
func (r *reading) marks() error {
	content, hasMarks := r.contents[marksFile]
	_, hasToken := r.contents[tokenFile]
	switch {
	case r.tooLarge[marksFile]:
		r.unreadable(marksFile, fmt.Sprintf("it is larger than %d bytes", contentCap))
		return nil
	case r.tooLarge[tokenFile]:
		r.unreadable(tokenFile, fmt.Sprintf("it is larger than %d bytes", contentCap))
		return nil
	case !hasMarks && !hasToken:
		return nil
	}
	m := &state.Marks{}
	if hasToken {
		var ok bool
		if m.Token, m.Lineage, ok = readToken(r.contents[tokenFile]); !ok {
			r.unreadable(tokenFile, "it holds no number of a run")
			return nil
		}
	}
	if hasMarks {
		token := m.Token
		if err := json.Unmarshal(content, m); err != nil {
			r.unreadable(marksFile, providers.Sanitize(err.Error(), 200))
			return nil
		}
		if hasToken { // it decides which runs the host accepts
			m.Token = token
		}
	}
	r.report.Marks = m
	return nil
}

// unreadable records why one of our files cannot be read, without its content.
func (r *reading) unreadable(file, why string) {
	r.report.Marks = &state.Marks{Unreadable: "cannot read " + file + ": " + why}
}

// readToken parses the token file: the token of the last run, the state's lineage, and the
// run's name. A token that is too large is read as math.MaxInt64.
func readToken(raw []byte) (token int64, lineage string, ok bool) {
	words := strings.Fields(string(raw))
	if len(words) == 0 || len(words) > 3 || !tokenForm.MatchString(words[0]) {
		return 0, "", false
	}
	token, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, "", false
	}
	if len(words) > 1 {
		lineage = words[1]
	}
	return token, lineage, true
}
