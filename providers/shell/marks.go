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

// tokenForm is a run's number as a host keeps it.
var tokenForm = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// marks reads what kubewright left on the host. What cannot be read says so: it is a
// finding about this host, and the rest of its report is as good as any.
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
		if hasToken { // by which the host accepts runs
			m.Token = token
		}
	}
	r.report.Marks = m
	return nil
}

// unreadable notes why a file of ours cannot be read, without what is in it.
func (r *reading) unreadable(file, why string) {
	r.report.Marks = &state.Marks{Unreadable: "cannot read " + file + ": " + why}
}

// readToken takes the token file apart: the number of the last run, the state's lineage,
// and the run's name. A number that is too large is read as the largest.
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
