package shell

import "time"

// WaitForLock sets how long batches wait for those of another run.
func (h *Host) WaitForLock(d time.Duration) { h.lockWait = d }

// GiveUpAfter sets after how much silence an observed host is given up.
func (h *Host) GiveUpAfter(d time.Duration) { h.pace.Silence = d }

// WaitForData sets how long batches wait for data on the host.
func (h *Host) WaitForData(d time.Duration) { h.idle = d }
