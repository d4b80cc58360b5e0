// Package growth helps benchmarks measure how cost grows with size.
package growth

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Run runs a benchmark for every size, smallest first. It measures the function that prepare
// returns for a size. Besides time and allocations it reports, for each size,
//
//	MB-peak   the maximum growth of the heap during the benchmark, in
//	          millions of bytes, sampled every 10 ms
//	growth    the increase in time over the previous size, divided by the
//	          increase in size: 1 is linear, 10 from 100 to 1,000 quadratic
//
// Growth is below 1 where part of the work does not depend on the size.
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

// watchHeap samples the heap in use. The returned function stops it and returns the maximum
// growth in bytes.
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
