package console

import (
	"io"
	"os"
	"time"
)

// AbortGrace is how long a process goes on after a second interrupt: a run that stops at
// once has written its state by then. What hangs, such as a read of a pipe or a write to
// one that is not read, heeds no interrupt.
const AbortGrace = 800 * time.Millisecond

// lastWord is how long the last message may take to be written.
const lastWord = 100 * time.Millisecond

// aborted is said when a process is ended that did not end by itself.
const aborted = "\nEnded at once, as it was interrupted again and something did not end. If steps were running, the journal\n" +
	"in this folder has what they did, and the same command goes on from there.\n"

// AbortAtSecond ends the process a grace after the second interrupt, whatever it waits
// for: it shares nothing with what deals with interrupts otherwise.
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
