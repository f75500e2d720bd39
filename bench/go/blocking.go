// W16: what a blocking call costs the other tasks. Go finds such calls by itself: a system call
// gives its processor away. So no call is declared as blocking, and the calls are the same in all
// cases.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Sleeps in a system call, without the timers of the runtime.
func blockFor(span time.Duration) {
	left := syscall.NsecToTimespec(int64(span))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

// The steps of the computing goroutines.
type computing struct {
	began  time.Time
	steps  atomic.Int64
	last   atomic.Int64 // when the last step began, after `began`
	ending atomic.Bool
}

func (others *computing) now() int64 { return int64(time.Since(others.began)) }

func (others *computing) compute(work time.Duration) {
	for !others.ending.Load() {
		others.last.Store(others.now())
		burn(work)
		others.steps.Add(1)
		runtime.Gosched()
	}
}

func blocking(asked options) (*measurement, error) {
	measure := map[string]func(options, *computing) *measurement{
		"calls": calls, "in_place": calls, "rescue": rescue}[asked.name]
	if measure == nil {
		return nil, nil
	}
	others := computing{began: time.Now()}
	var left sync.WaitGroup
	left.Add(asked.chains)
	for i := 0; i != asked.chains; i++ {
		go func() {
			defer left.Done()
			others.compute(time.Duration(asked.workNs))
		}()
	}
	found := measure(asked, &others)
	others.ending.Store(true)
	left.Wait()
	return found, nil
}

func calls(asked options, others *computing) *measurement {
	span := time.Duration(asked.spanMs) * time.Millisecond
	steps := &others.steps
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

// The waiting thread is a goroutine, too: it sleeps while other goroutines compute, and begins the
// next call between two of their steps.
func rescue(asked options, others *computing) *measurement {
	span := time.Duration(asked.spanMs) * time.Millisecond
	watch := startWatch()
	taken := make([]time.Duration, asked.count)
	for i := range taken {
		time.Sleep(5 * time.Millisecond)
		begun := make(chan int64, 1)
		left := make(chan struct{})
		go func() {
			begun <- others.now()
			blockFor(span)
			close(left)
		}()
		began := <-begun
		for others.last.Load() <= began {
			time.Sleep(50 * time.Microsecond)
		}
		taken[i] = time.Duration(others.last.Load() - began)
		<-left
	}
	found := watch.perItem(asked.count)
	found.reportPercentiles(taken, 0.99)
	return found
}
