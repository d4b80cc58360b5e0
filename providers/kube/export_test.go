package kube

import "time"

// GiveUpAfter sets how long the API may send no data before it counts as silent.
func (a *API) GiveUpAfter(d time.Duration) { a.pace.Silence = d }
