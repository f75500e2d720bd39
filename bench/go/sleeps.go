// W7 and W9 to W12: goroutines that wait for each other or for a time.
package main

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Two goroutines, and a channel in each direction.
func play(switches int) {
	there, back := make(chan struct{}), make(chan struct{})
	pass := func(from <-chan struct{}, to chan<- struct{}) {
		for range from {
			to <- struct{}{}
		}
		close(to)
	}
	go pass(there, back)
	over := make(chan struct{})
	go func() {
		for i := 0; i < switches; i += 2 {
			there <- struct{}{}
			<-back
		}
		close(there)
		<-back
		close(over)
	}()
	<-over
}

func pingPong(asked options) (*measurement, error) {
	if asked.name == "channel" {
		return measureSum(asked, playToken)
	}
	if asked.name != "coroutine" {
		return nil, nil
	}
	play(asked.count / 10)
	watch := startWatch()
	play(asked.count)
	return watch.perItem(asked.count), nil
}

// Calls set for each sleeper. The deadlines are in a second that begins when all are set.
func sleepers(count int, set func(deadline time.Time, index int, handler func(int))) (*measurement, error) {
	late := newLateness(count)
	random := rand.New(rand.NewSource(1))
	begin := time.Now().Add(time.Duration(3*count) * time.Microsecond)
	for i := range late.deadlines {
		late.deadlines[i] = begin.Add(time.Duration(random.Int63n(int64(time.Second))))
	}
	handler := func(index int) {
		late.record(index)
		countTask(index)
	}
	target := totalRun() + count
	watch := startWatch()
	for i, deadline := range late.deadlines {
		set(deadline, i, handler)
	}
	settingNs := float64(time.Since(watch.began))
	waitForTotal(target)
	found := watch.perItem(count)
	found.alsoMeasured("to set", settingNs/float64(count), "ns")
	return late.report(found)
}

func singleTimer(count int) (*measurement, error) {
	late := newLateness(count)
	random := rand.New(rand.NewSource(1))
	watch := startWatch()
	for i := range late.deadlines {
		delay := time.Duration(random.Int63n(int64(20 * time.Millisecond)))
		late.deadlines[i] = time.Now().Add(delay)
		done := make(chan struct{})
		time.AfterFunc(delay, func() {
			late.record(i)
			close(done)
		})
		<-done
	}
	return late.report(watch.perItem(count))
}

func cancelled(count int) (*measurement, error) {
	all := make([]*time.Timer, count)
	watch := startWatch()
	for i := range all {
		all[i] = time.AfterFunc(time.Hour, func() {})
	}
	for _, each := range all {
		if !each.Stop() {
			return nil, errors.New("a timer has run")
		}
	}
	return watch.perItem(count), nil
}

func timers(asked options) (*measurement, error) {
	switch asked.name {
	case "callback":
		return sleepers(asked.count, func(deadline time.Time, index int, handler func(int)) {
			time.AfterFunc(time.Until(deadline), func() { handler(index) })
		})
	case "coroutine":
		return sleepers(asked.count, func(deadline time.Time, index int, handler func(int)) {
			go func() {
				time.Sleep(time.Until(deadline))
				handler(index)
			}()
		})
	case "single":
		return singleTimer(asked.count)
	case "cancel":
		return cancelled(asked.count)
	}
	return nil, nil
}

func residentBytes() uint64 { return 1024 * fieldsOf("/proc/self/status", "VmRSS:") }

func memory(asked options) (*measurement, error) {
	wake := make(chan struct{})
	sleep := map[string]func(){"parked": func() { <-wake }, "asleep": func() { time.Sleep(time.Hour) }}[asked.name]
	if sleep == nil {
		return nil, nil
	}
	putToSleep := func(count int) {
		target := totalRun() + count
		for i := 0; i != count; i++ {
			go func(index int) {
				countTask(index)
				sleep()
			}(i)
		}
		waitForTotal(target)
		time.Sleep(100 * time.Millisecond)
	}
	putToSleep(100)
	watch := startWatch()
	before := residentBytes()
	putToSleep(asked.count)
	found := watch.perItem(asked.count)
	found.Value, found.Unit = float64(residentBytes()-before)/float64(asked.count), "bytes"
	return found, nil
}

func saturated(asked options) (*measurement, error) {
	if asked.name != "saturated" && asked.name != "slices" {
		return nil, nil
	}
	var steps atomic.Int64
	var ending atomic.Bool
	var busy sync.WaitGroup
	busy.Add(asked.chains)
	watch := startWatch()
	for i := 0; i != asked.chains; i++ {
		go func() {
			defer busy.Done()
			for !ending.Load() {
				for begin := time.Now(); time.Since(begin) < time.Duration(asked.workNs); {
				}
				steps.Add(1)
				if asked.name == "saturated" {
					runtime.Gosched()
				}
			}
		}()
	}
	late := newLateness(asked.count)
	random := rand.New(rand.NewSource(1))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range late.deadlines {
			delay := time.Duration(random.Int63n(int64(asked.spanMs) * int64(time.Millisecond)))
			late.deadlines[i] = time.Now().Add(delay)
			time.Sleep(delay)
			late.record(i)
		}
	}()
	<-over
	ending.Store(true)
	busy.Wait()
	workedNs := float64(steps.Load()) * float64(asked.workNs)
	workersNs := float64(time.Since(watch.began)) * float64(asked.workers)
	found := watch.perItem(asked.count)
	found.alsoMeasured("busy", 100*workedNs/workersNs, "%")
	return late.report(found)
}

func wakes(count int) *measurement {
	latencies := make([]time.Duration, count)
	watch := startWatch()
	for i := range latencies {
		var latency atomic.Int64
		posted := time.Now()
		go func() { latency.Store(int64(time.Since(posted))) }()
		for latency.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		latencies[i] = time.Duration(latency.Load())
	}
	found := watch.perItem(count)
	found.reportPercentiles(latencies, 0.5)
	return found
}

// Context switches of all threads of this process.
func switches() (sum uint64) {
	paths, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(paths) == 0 {
		panic("no threads in " + os.Args[0])
	}
	for _, path := range paths {
		sum += fieldsOf(path, "voluntary_ctxt_switches:")
	}
	return sum
}

func wakeUp(asked options) (*measurement, error) {
	switch asked.name {
	case "wake":
		return wakes(asked.count), nil
	case "idle":
		wakes(10)
		time.Sleep(100 * time.Millisecond)
		watch := startWatch()
		before := switches()
		time.Sleep(time.Duration(asked.count) * time.Millisecond)
		after := switches()
		found := watch.perItem(asked.count)
		found.Value, found.Unit = float64(after-before), "switches"
		return found, nil
	}
	return nil, nil
}
