package shell

import "time"

// WaitForLock has batches wait as long for those of somebody else.
func (h *Host) WaitForLock(d time.Duration) { h.lockWait = d }
