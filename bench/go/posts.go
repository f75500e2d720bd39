// W1 to W4: tasks that are posted. A closure and a coroutine are the same: a goroutine.
package main

import (
	"sync"
	"time"
)

// Starts post(producer, index) for each index below count in each producer, and waits for the last
// task.
func storm(producers, count int, post func(producer, index int)) *measurement {
	target := totalRun() + producers*count
	begin := make(chan struct{})
	for producer := 0; producer != producers; producer++ {
		go func(producer int) {
			<-begin
			for i := 0; i != count; i++ {
				post(producer, i)
			}
		}(producer)
	}
	watch := startWatch()
	close(begin)
	waitForTotal(target)
	return watch.perItem(producers * count)
}

func postStorm(asked options) (*measurement, error) {
	if asked.name != "one_shot" && asked.name != "coroutine" {
		return nil, nil
	}
	post := func(_, index int) { go countTask(index) }
	storm(asked.producers, asked.count/10, post)
	return storm(asked.producers, asked.count, post), nil
}

type chain struct {
	left int
	next func() // the function hop, made once instead of for each hop
	end  time.Time
	done *sync.WaitGroup
	_    [64]byte // the next chain may run at the same time
}

func (c *chain) hop() {
	if c.left--; c.left != 0 {
		go c.next()
		return
	}
	c.end = time.Now()
	c.done.Done()
}

func runChains(chains []chain, hops int) *measurement {
	var done sync.WaitGroup
	done.Add(len(chains))
	for i := range chains {
		c := &chains[i]
		c.left, c.next, c.done = hops, c.hop, &done
	}
	watch := startWatch()
	for i := range chains {
		go chains[i].next()
	}
	done.Wait()
	found := watch.perItem(hops * len(chains))
	slowest := watch.began
	for i := range chains {
		if chains[i].end.After(slowest) {
			slowest = chains[i].end
		}
	}
	found.Value = float64(slowest.Sub(watch.began)) / float64(hops)
	return found
}

func repost(asked options) (*measurement, error) {
	if asked.name != "one_shot" {
		return nil, nil
	}
	chains := make([]chain, asked.chains)
	runChains(chains, asked.count/10+1)
	return runChains(chains, asked.count), nil
}

func avalanche(asked options) (*measurement, error) {
	if asked.name != "empty" {
		return nil, nil
	}
	fall := func(count int) {
		target := totalRun() + count
		for i := 0; i != count; i++ {
			go countTask(i)
		}
		waitForTotal(target)
	}
	fall(1000)
	rounds := 1_000_000 / asked.count
	if rounds == 0 {
		rounds = 1
	}
	watch := startWatch()
	for i := 0; i != rounds; i++ {
		fall(asked.count)
	}
	return watch.perItem(rounds * asked.count), nil
}

func recursive(asked options) (*measurement, error) {
	if asked.name != "one_shot" {
		return nil, nil
	}
	parent := func(children int) {
		for i := 0; i != children; i++ {
			go countTask(i)
		}
		countTask(children)
	}
	run := func(parents int) *measurement {
		tasks := parents * (1 + asked.count)
		target := totalRun() + tasks
		watch := startWatch()
		for i := 0; i != parents; i++ {
			go parent(asked.count)
		}
		waitForTotal(target)
		return watch.perItem(tasks)
	}
	run(asked.count / 10)
	return run(asked.count), nil
}
