package console

import (
	"io"
	"os"
	"time"
)

// AbortGrace is the time that a process has after a second interrupt: a run that stops at once
// has written its state by then. A blocked call, such as a read from a pipe or a write to one
// that is not read, ignores interrupts.
const AbortGrace = 800 * time.Millisecond

// lastWord is the time that writing the last message may take.
const lastWord = 100 * time.Millisecond

// aborted is printed when a process that did not end by itself is ended.
const aborted = "\nEnded at once, as it was interrupted again and something did not end. If steps were running, the journal\n" +
	"in this folder has what they did, and the same command continues from there.\n"

// AbortAtSecond ends the process a grace period after the second interrupt, whatever it waits
// for: it shares nothing with the other handling of interrupts.
func AbortAtSecond(interrupts <-chan os.Signal, grace time.Duration, stderr io.Writer, exit func(code int)) {
	for range 2 {
		<-interrupts
	}
	time.Sleep(grace)
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.WriteString(stderr, aborted)
	}()
	select {
	case <-said:
	case <-time.After(lastWord):
	}
	exit(ExitInterrupted)
}
