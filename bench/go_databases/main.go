// The clients of databases of Go, for W19, see ../w19/requests.hpp: pgx and go-redis. A program in
// C++ starts the server and this program; it prints the requests in a second, and the seconds of
// CPU time that they took.
//
// A goroutine for each connection. Requests that are in flight together are a batch of pgx, and a
// pipeline of go-redis: the next ones are sent when the answers to all have come.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// As in ../w19/requests.hpp.
const (
	rows  = 1000
	key   = "key:__rand_int__"
	query = "select body from pages where id = $1"
)

var wrong = errors.New("another answer")

// Makes so many requests at once, and checks the answers, of which each has so many bytes.
type asker func(ctx context.Context, requests, size int) error

func check(body string, size int) error {
	if len(body) != size || body[size-1] != 'x' {
		return wrong
	}
	return nil
}

func connectPgx(ctx context.Context, where string) (asker, error) {
	connection, err := pgx.Connect(ctx, where)
	next := 0
	return func(ctx context.Context, requests, size int) error {
		var body string
		if requests == 1 {
			next = next%rows + 1
			if err := connection.QueryRow(ctx, query, next).Scan(&body); err != nil {
				return err
			}
			return check(body, size)
		}
		batch := &pgx.Batch{}
		for i := 0; i != requests; i++ {
			next = next%rows + 1
			batch.Queue(query, next)
		}
		answers := connection.SendBatch(ctx, batch)
		for i := 0; i != requests; i++ {
			if err := answers.QueryRow().Scan(&body); err != nil {
				return err
			}
			if err := check(body, size); err != nil {
				return err
			}
		}
		return answers.Close()
	}, err
}

func connectRedis(ctx context.Context, where string) (asker, error) {
	client := redis.NewClient(&redis.Options{Addr: where, PoolSize: 1})
	return func(ctx context.Context, requests, size int) error {
		if requests == 1 {
			body, err := client.Get(ctx, key).Result()
			if err != nil {
				return err
			}
			return check(body, size)
		}
		pipeline := client.Pipeline()
		for i := 0; i != requests; i++ {
			pipeline.Get(ctx, key)
		}
		answers, err := pipeline.Exec(ctx)
		if err != nil {
			return err
		}
		for _, each := range answers {
			if err := check(each.(*redis.StringCmd).Val(), size); err != nil {
				return err
			}
		}
		return nil
	}, client.Ping(ctx).Err()
}

// Divides the requests among the connections.
func ask(ctx context.Context, by []asker, inFlight, count, size int) error {
	ends := make(chan error)
	for i, each := range by {
		go func(ask asker, left int) {
			var err error
			for left != 0 && err == nil {
				now := inFlight
				if now > left {
					now = left
				}
				left -= now
				err = ask(ctx, now, size)
			}
			ends <- err
		}(each, count*(i+1)/len(by)-count*i/len(by))
	}
	var failed error
	for range by {
		if err := <-ends; err != nil {
			failed = err
		}
	}
	return failed
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func measure(what, where string, connections, inFlight, count, size int) error {
	ctx := context.Background()
	connect := map[string]func(context.Context, string) (asker, error){"pgx": connectPgx, "redis": connectRedis}[what]
	var by []asker
	for i := 0; i != connections; i++ {
		made, err := connect(ctx, where)
		if err != nil {
			return err
		}
		by = append(by, made)
	}
	if err := ask(ctx, by, inFlight, count/10, size); err != nil {
		return err
	}
	began, beganCPU := time.Now(), cpu()
	if err := ask(ctx, by, inFlight, count, size); err != nil {
		return err
	}
	rate := float64(count) / time.Since(began).Seconds()
	_, err := fmt.Printf("%f %f\n", rate, (cpu() - beganCPU).Seconds())
	return err
}

func main() {
	var numbers [4]int
	if len(os.Args) != 3+len(numbers) {
		fmt.Fprintln(os.Stderr, "usage: pgx|redis WHERE CONNECTIONS IN_FLIGHT COUNT SIZE")
		os.Exit(64)
	}
	for i := range numbers {
		number, err := strconv.Atoi(os.Args[3+i])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(64)
		}
		numbers[i] = number
	}
	runtime.GOMAXPROCS(1)
	if err := measure(os.Args[1], os.Args[2], numbers[0], numbers[1], numbers[2], numbers[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
