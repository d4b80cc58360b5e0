package shell

import "time"

// WaitForLock has batches wait as long for those of somebody else.
func (h *Host) WaitForLock(d time.Duration) { h.lockWait = d }

// GiveUpAfter has the host given up that has brought nothing for as long while it is observed.
func (h *Host) GiveUpAfter(d time.Duration) { h.pace.Silence = d }

// WaitForData has batches wait as long on the host for the next of their data.
func (h *Host) WaitForData(d time.Duration) { h.idle = d }
