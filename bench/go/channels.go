// W8: channels. Go's have a bound and no batches.
package main

import "sync"

const channelPlaces = 1024

// Sends the numbers below count, and gives the sum of what was received.
func stream(asked options, count int) uint64 {
	through := make(chan uint64, channelPlaces)
	var senders, receivers sync.WaitGroup
	sums := make([]uint64, asked.consumers)
	for i := range sums {
		receivers.Add(1)
		go func(into *uint64) {
			defer receivers.Done()
			sum := uint64(0)
			for next := range through {
				sum += next
			}
			*into = sum
		}(&sums[i])
	}
	for i := 0; i != asked.producers; i++ {
		senders.Add(1)
		go func(first, end uint64) {
			defer senders.Done()
			for number := first; number != end; number++ {
				through <- number
			}
		}(partOf(i, asked.producers, count))
	}
	senders.Wait()
	close(through)
	receivers.Wait()
	total := uint64(0)
	for _, sum := range sums {
		total += sum
	}
	return total
}

// Two goroutines send a token to each other: 0, 1, 2, ...
func playToken(_ options, count int) uint64 {
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	sums := make(chan uint64)
	plays := func(in, out chan uint64, left int) {
		sum := uint64(0)
		for ; left != 0; left-- {
			token := <-in
			sum += token
			out <- token + 1
		}
		sums <- sum
	}
	go plays(there, back, (count+1)/2)
	go plays(back, there, count/2)
	there <- 0
	return <-sums + <-sums
}

func channels(asked options) (*measurement, error) {
	run := map[string]func(options, int) uint64{"bounded": stream, "ping_pong": playToken}[asked.name]
	if run == nil {
		return nil, nil
	}
	return measureSum(asked, run)
}
