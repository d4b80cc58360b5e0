package shell

import (
	"fmt"
	"io"
	"time"
)

// silence is how long a host that is observed may bring nothing before it is given up. What
// it looks at it tells as it goes, and nothing that it waits for may take as long: the
// slowest are a repository's list of packages and the runtime's list of images, with limits
// of their own below it. Where a disk hangs, whoever reads it does so for ever, and sshd
// goes on to say that the host is alive.
const silence = time.Minute

// silentError says how long nothing has come.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("it lets us in, and then nothing has come from it for %s: a command hangs there, as where a disk or a network file system does not answer. "+
		"See what the kernel's log says (dmesg) and which processes are in state D (ps), mend that or restart the machine, and try again", time.Duration(e))
}

// attend has silent called once tell was not for so long. It begins with the first tell,
// which is when the host asks for its script: until then a command waits for its place
// among the sessions that the host grants, perhaps behind a batch.
func attend(limit time.Duration, silent func()) (tell, stop func()) {
	if limit == 0 {
		return func() {}, func() {}
	}
	timer := time.AfterFunc(limit, silent)
	timer.Stop()
	return func() { timer.Reset(limit) }, func() { timer.Stop() }
}

// tellingReader tells when somebody reads.
type tellingReader struct {
	io.Reader
	tell func()
}

func (r tellingReader) Read(p []byte) (int, error) {
	r.tell()
	return r.Reader.Read(p)
}

// tellingWriter tells when something has come.
type tellingWriter struct {
	io.Writer
	tell func()
}

func (w tellingWriter) Write(p []byte) (int, error) {
	w.tell()
	return w.Writer.Write(p)
}
