// W16: what calls that block cost others. Go finds them by itself: a system call gives its processor away.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A sleep that the runtime does not know of.
func blockFor(span time.Duration) {
	left := syscall.NsecToTimespec(int64(span))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

func blocking(asked options) (*measurement, error) {
	if asked.name != "calls" {
		return nil, nil
	}
	work := time.Duration(asked.workNs)
	var steps atomic.Int64
	var ending atomic.Bool
	var others sync.WaitGroup
	others.Add(asked.chains)
	for i := 0; i != asked.chains; i++ {
		go func() {
			defer others.Done()
			for !ending.Load() {
				burn(work)
				steps.Add(1)
				runtime.Gosched()
			}
		}()
	}
	found := calls(asked, &steps)
	ending.Store(true)
	others.Wait()
	return found, nil
}

func calls(asked options, steps *atomic.Int64) *measurement {
	span := time.Duration(asked.spanMs) * time.Millisecond
	watch := startWatch()
	var took time.Duration
	var with float64
	for turn := 0; turn != 2; turn++ {
		var left sync.WaitGroup
		left.Add(asked.count)
		before := steps.Load()
		begin := time.Now()
		for i := 0; i != asked.count; i++ {
			go func() {
				defer left.Done()
				blockFor(span)
			}()
		}
		left.Wait()
		took = time.Since(begin)
		with = float64(took) * float64(asked.workers) / float64(steps.Load()-before)
	}
	before := steps.Load()
	time.Sleep(took)
	alone := float64(took) * float64(asked.workers) / float64(steps.Load()-before)
	found := watch.perItem(2 * asked.count)
	found.Value = with
	found.alsoMeasured("alone", alone, "ns")
	found.alsoMeasured("slower", 100*(with/alone-1), "%")
	found.alsoMeasured("calls took", float64(took)*1e-6, "ms")
	return found
}
