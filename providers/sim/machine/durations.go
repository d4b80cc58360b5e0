package machine

import (
	"time"
)

// How long operations take in the world's time.
const (
	TimeFile   = 5 * time.Millisecond
	TimeUpload = 800 * time.Millisecond
	TimeImage  = 1500 * time.Millisecond
	timeUnit   = 300 * time.Millisecond
)
