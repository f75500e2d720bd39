// W22. A goroutine that waits for a channel stands for a task that waits for another task.
package main

import (
	"runtime"
	"sync"
)

func lockInTurn(asked options, count int) uint64 {
	var guards sync.Mutex
	var tasks sync.WaitGroup
	sum, yields := uint64(0), asked.name == "mutex_yield"
	for i := 0; i != asked.chains; i++ {
		tasks.Add(1)
		go func(first, end uint64) {
			defer tasks.Done()
			for number := first; number != end; number++ {
				guards.Lock()
				sum += number
				if yields {
					runtime.Gosched()
				}
				guards.Unlock()
			}
		}(partOf(i, asked.chains, count))
	}
	tasks.Wait()
	return sum
}

type lines []chan uint64

func newLines(count int) lines {
	made := make(lines, count)
	for i := range made {
		made[i] = make(chan uint64, 1)
	}
	return made
}

// Takes from the first channel that has something. A select has a fixed number of cases.
func (from lines) take() uint64 {
	if len(from) == 2 {
		select {
		case next := <-from[0]:
			return next
		case next := <-from[1]:
			return next
		}
	}
	select {
	case next := <-from[0]:
		return next
	case next := <-from[1]:
		return next
	case next := <-from[2]:
		return next
	case next := <-from[3]:
		return next
	case next := <-from[4]:
		return next
	case next := <-from[5]:
		return next
	case next := <-from[6]:
		return next
	case next := <-from[7]:
		return next
	}
}

func selectWaiting(asked options, count int) uint64 {
	to, back, sums := newLines(asked.chains), make(chan uint64, 1), make(chan uint64)
	go func() {
		sum := uint64(0)
		for number := 0; number != count; number++ {
			sum += to.take()
			back <- uint64(number)
		}
		sums <- sum
	}()
	go func() {
		for number := 0; number != count; number++ {
			to[number%len(to)] <- uint64(number)
			<-back
		}
	}()
	return <-sums
}

func selectReady(asked options, count int) uint64 {
	to, sum := newLines(asked.chains), uint64(0)
	for number := 0; number != count; number++ {
		to[number%len(to)] <- uint64(number)
		sum += to.take()
	}
	return sum
}

func spawnAndWait(_ options, count int) uint64 {
	sum := uint64(0)
	for number := 0; number != count; number++ {
		result := make(chan uint64, 1)
		go func(number uint64) { result <- number }(uint64(number))
		sum += <-result
	}
	return sum
}

func waiting(asked options) (*measurement, error) {
	run := map[string]func(options, int) uint64{
		"mutex": lockInTurn, "mutex_yield": lockInTurn, "select": selectWaiting, "select_ready": selectReady,
		"spawn": spawnAndWait,
	}[asked.name]
	isSelect := asked.name == "select" || asked.name == "select_ready"
	if run == nil || isSelect && asked.chains != 2 && asked.chains != 8 {
		return nil, nil
	}
	return measureSum(asked, run)
}
