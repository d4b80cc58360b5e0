package kube

import "time"

// GiveUpAfter has the API count as silent when nothing comes from it for so long.
func (a *API) GiveUpAfter(d time.Duration) { a.pace.Silence = d }
