// The benchmarks of Go's runtime: one program for all workloads, which takes part where it is
// linked as <workload>/go. It has the options and the output of the programs in C++, see
// ../README.md. The headers of the workloads describe them, such as ../w1/post_storm.hpp.
//
// A goroutine stands for a closure and for a coroutine of the other runtimes. There is no thread
// outside the runtime: the producers, and the goroutine that waits for the end, share the workers
// with the tasks. GOMAXPROCS is the number of workers.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// The options, see ../support/options.hpp.
type options struct {
	name                              string
	workers, producers, consumers     int
	count, chains                     int
	workNs, spanMs                    int
	connections, idle, size, inFlight int
}

const notOffered = 3

// Runs a case of a workload. Returns nil, nil if there is no case of that name.
var workloads = map[string]func(asked options) (*measurement, error){
	"w1": postStorm, "w2": repost, "w3": avalanche, "w4": recursive, "w7": pingPong, "w8": channels, "w9": timers,
	"w10": memory,
	"w11": saturated, "w12": wakeUp, "w13": echo, "w15": tenants, "w16": blocking, "w21": servePages, "w22": waiting,
}

func parse() (asked options) {
	flag.StringVar(&asked.name, "case", "", "")
	for name, number := range map[string]*int{
		"workers": &asked.workers, "producers": &asked.producers, "consumers": &asked.consumers, "count": &asked.count, "chains": &asked.chains,
		"work_ns": &asked.workNs, "span_ms": &asked.spanMs, "connections": &asked.connections, "idle": &asked.idle,
		"size": &asked.size, "in_flight": &asked.inFlight,
	} {
		flag.IntVar(number, name, 1, "")
	}
	flag.Parse()
	return asked
}

// The folder of the path by which the program was called: the workload.
func home() string {
	path, err := filepath.Abs(os.Args[0])
	if err != nil {
		panic(err)
	}
	return filepath.Dir(path)
}

func main() {
	asked := parse()
	runtime.GOMAXPROCS(asked.workers)
	workload := filepath.Base(home())
	measure := workloads[workload]
	if measure == nil {
		fmt.Fprintln(os.Stderr, "to be called as <workload>/go")
		os.Exit(64)
	}
	found, err := measure(asked)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", asked.name, err)
		os.Exit(1)
	}
	if found == nil {
		fmt.Fprintf(os.Stderr, "go does not offer %s\n", asked.name)
		os.Exit(notOffered)
	}
	found.complete(workload, asked.name)
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}
