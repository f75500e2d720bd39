// W15: a light tenant beside a noisy one. Goroutines have no groups: all of them share the workers.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const requestPeriod = 5 * time.Millisecond

// Keeps its thread busy in real time: Go does not give a thread its CPU time.
func burn(work time.Duration) {
	for begin := time.Now(); time.Since(begin) < work; {
	}
}

// Starts the requests of the light tenant, waits for the last, and returns the time of each to its
// end.
func sendRequests(count int, work time.Duration) []time.Duration {
	taken := make([]time.Duration, count)
	var left sync.WaitGroup
	left.Add(count)
	due := time.Now()
	for i := range taken {
		due = due.Add(requestPeriod)
		time.Sleep(time.Until(due))
		started := time.Now()
		go func(index int) {
			defer left.Done()
			burn(work)
			taken[index] = time.Since(started)
		}(i)
	}
	left.Wait()
	return taken
}

func tenants(asked options) (*measurement, error) {
	if asked.name != "noisy" {
		return nil, nil
	}
	work := time.Duration(asked.workNs)
	watch := startWatch()
	alone := sendRequests(asked.count, work)

	var steps atomic.Int64
	var ending atomic.Bool
	var noisy sync.WaitGroup
	noisy.Add(asked.chains)
	began := time.Now()
	for i := 0; i != asked.chains; i++ {
		go func() {
			defer noisy.Done()
			for !ending.Load() {
				burn(work)
				steps.Add(1)
				runtime.Gosched()
			}
		}()
	}
	beside := sendRequests(asked.count, work)
	ending.Store(true)
	noisy.Wait()
	workersNs := float64(time.Since(began)) * float64(asked.workers)

	found := watch.perItem(2 * asked.count)
	found.reportPercentiles(alone, 0.99)
	p99 := found.Value
	for _, name := range []string{"p50", "max"} {
		found.alsoMeasured("alone "+name, found.Beside[name][0].(float64), "us")
	}
	found.alsoMeasured("alone p99", p99, "us")
	found.reportPercentiles(beside, 0.99)
	found.alsoMeasured("above alone", 100*(found.Value/p99-1), "%")
	found.alsoMeasured("noisy", 100*float64(steps.Load())*float64(work)/workersNs, "%")
	return found, nil
}
