// The measurements of a run.
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type measurement struct {
	Workload   string            `json:"workload"`
	Case       string            `json:"case"`
	Runtime    string            `json:"runtime"`
	Value      float64           `json:"value"`
	Unit       string            `json:"unit"`
	CPUSeconds float64           `json:"cpu_seconds"`
	Items      int               `json:"items"`
	Beside     map[string][2]any `json:"beside,omitempty"`
	PeakRSS    uint64            `json:"peak_rss_bytes"`
}

func (found *measurement) complete(workload, name string) {
	found.Workload, found.Case, found.Runtime = strings.ToUpper(workload), name, "go"
	found.PeakRSS = 1024 * fieldsOf("/proc/self/status", "VmHWM:")
}

func (found *measurement) alsoMeasured(name string, value float64, unit string) {
	if found.Beside == nil {
		found.Beside = map[string][2]any{}
	}
	found.Beside[name] = [2]any{value, unit}
}

// The sum of the numbers in a file of /proc behind the names with the given end.
func fieldsOf(path, end string) (sum uint64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0 // a thread that has ended
	}
	for _, line := range strings.Split(string(text), "\n") {
		var name string
		var number uint64
		fmt.Sscanf(line, "%s %d", &name, &number)
		if strings.HasSuffix(name, end) {
			sum += number
		}
	}
	return sum
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) * 1e-9
}

type stopwatch struct {
	began    time.Time
	beganCPU float64
}

func startWatch() stopwatch { return stopwatch{time.Now(), cpuSeconds()} }

func (watch stopwatch) perItem(items int) *measurement {
	elapsed := float64(time.Since(watch.began))
	return &measurement{Value: elapsed / float64(items), Unit: "ns", CPUSeconds: cpuSeconds() - watch.beganCPU,
		Items: items}
}

// The numbers below count that are those of task index of tasks: the first one, and the end.
func partOf(index, tasks, count int) (uint64, uint64) {
	return uint64(count * index / tasks), uint64(count * (index + 1) / tasks)
}

// As measure_sum in ../support/numbers.hpp.
func measureSum(asked options, pass func(options, int) uint64) (*measurement, error) {
	isRight := func(sum uint64, count int) bool { return sum == uint64(count)*uint64(count-1)/2 }
	warm := isRight(pass(asked, asked.count/10), asked.count/10)
	watch := startWatch()
	sum := pass(asked, asked.count)
	found := watch.perItem(asked.count)
	if !warm || !isRight(sum, asked.count) {
		return nil, errors.New("a number was lost, or came twice")
	}
	return found, nil
}

// tasksRun counts the tasks that ran. A task counts in the cache line of its index, so that
// neighbours, which may run at the same time, do not share a line.
var tasksRun [256]struct {
	count atomic.Int64
	_     [120]byte
}

func countTask(index int) { tasksRun[index%len(tasksRun)].count.Add(1) }

func totalRun() (sum int) {
	for i := range tasksRun {
		sum += int(tasksRun[i].count.Load())
	}
	return sum
}

// Sleeps until `target` tasks ran. It looks rarely while many are left, as tally::wait_for_total in
// C++.
func waitForTotal(target int) {
	began, first := time.Now(), totalRun()
	for done := first; done < target; done = totalRun() {
		rest := time.Since(began) * time.Duration(target-done) / time.Duration(done-first+1)
		sleep := rest / 3
		if sleep < 50*time.Microsecond {
			sleep = 50 * time.Microsecond
		}
		if sleep > 5*time.Millisecond {
			sleep = 5 * time.Millisecond
		}
		time.Sleep(sleep)
	}
}

// percentile of sorted values: the least value that is not below the given share of them.
func percentile(sorted []time.Duration, share float64) float64 {
	rank := int(share * float64(len(sorted)))
	if rank == len(sorted) {
		rank--
	}
	return float64(sorted[rank]) * 1e-3
}

// Reports microseconds: as the value the percentile `share`, and beside it other percentiles.
func (found *measurement) reportPercentiles(values []time.Duration, share float64) {
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	found.Value, found.Unit = percentile(values, share), "us"
	for name, other := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		if other != share {
			found.alsoMeasured(name, percentile(values, other), "us")
		}
	}
}

// lateness of sleepers, by the index of the sleeper.
type lateness struct {
	deadlines []time.Time
	late      []time.Duration
}

func newLateness(count int) *lateness {
	return &lateness{make([]time.Time, count), make([]time.Duration, count)}
}

func (l *lateness) record(index int) { l.late[index] = time.Since(l.deadlines[index]) }

func (l *lateness) report(found *measurement) (*measurement, error) {
	found.reportPercentiles(l.late, 0.99)
	if l.late[0] < 0 { // late is sorted now
		return nil, errors.New("a timer was early")
	}
	return found, nil
}
