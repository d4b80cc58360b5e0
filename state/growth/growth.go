// Package growth is for benchmarks that ask how something grows with its size.
package growth

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Run runs a benchmark for every size, smallest first. What prepare returns is
// measured; it gets the number of the size. Beside time and allocations the
// output has, for each size,
//
//	MB-peak   the most that the heap took above what it took before, in
//	          millions of bytes, looked at every 10 ms
//	growth    how many times as long it took as the size before, for each time
//	          that it is as large: 1 is linear, 10 from 100 to 1,000 quadratic
//
// Growth is below 1 where something is done once, whatever the size.
func Run(b *testing.B, unit string, sizes []int, prepare func(b *testing.B, size int) func()) {
	var before float64
	for i, size := range sizes {
		b.Run(fmt.Sprintf("%s=%d", unit, size), func(b *testing.B) {
			run := prepare(b, size)
			peak := watchHeap()
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(peak())/1e6, "MB-peak")
			each := b.Elapsed().Seconds() / float64(b.N)
			if before > 0 {
				b.ReportMetric(each/before/(float64(size)/float64(sizes[i-1])), "growth")
			}
			before = each
		})
	}
}

// watchHeap watches how many bytes the heap takes, until the function that it
// returns is called and tells the most that was seen.
func watchHeap() func() uint64 {
	runtime.GC()
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	start := inUse()
	end, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		peak := start
		for {
			select {
			case <-tick.C:
				peak = max(peak, inUse())
			case <-end:
				most <- max(peak, inUse())
				return
			}
		}
	}()
	return func() uint64 { close(end); return <-most - start }
}
