// W13: a goroutine for each connection.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// The answer of the client: the type report in ../support/client_process.hpp.
type report struct {
	ElapsedNs, P50us, P99us float64
	Failure                 [200]byte
}

func session(peer net.Conn, bufferBytes int) {
	defer peer.Close()
	buffer := make([]byte, bufferBytes)
	for {
		size, err := peer.Read(buffer)
		if err != nil {
			return
		}
		if _, err = peer.Write(buffer[:size]); err != nil {
			return
		}
	}
}

func serve(listener net.Listener, bufferBytes int) {
	for {
		peer, err := listener.Accept()
		if err != nil {
			return
		}
		go session(peer, bufferBytes)
	}
}

// The client process, started with the options of this program, and our end of its control channel.
func startClient() (*exec.Cmd, *os.File, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	mine, other := os.NewFile(uintptr(ends[0]), "client"), os.NewFile(uintptr(ends[1]), "server")
	defer other.Close()
	client := exec.Command(filepath.Join(home(), "client"), os.Args[1:]...)
	client.Stdin, client.Stderr = other, os.Stderr
	return client, mine, client.Start()
}

func ask(client *os.File, word any) (answer report, err error) {
	if err = binary.Write(client, binary.LittleEndian, word); err != nil {
		return answer, err
	}
	if err = binary.Read(client, binary.LittleEndian, &answer); err != nil {
		return answer, err
	}
	if why := bytes.TrimRight(answer.Failure[:], "\x00"); len(why) != 0 {
		err = errors.New(string(why))
	}
	return answer, err
}

func measureExchange(client *os.File, port uint16, messages int, unit string) (*measurement, error) {
	const goOn = byte(0)
	if _, err := ask(client, port); err != nil {
		return nil, err
	}
	watch := startWatch()
	answer, err := ask(client, goOn)
	if err != nil {
		return nil, err
	}
	found := watch.perItem(messages)
	if _, err = ask(client, goOn); err != nil {
		return nil, err
	}
	found.Value = answer.ElapsedNs / float64(messages)
	found.alsoMeasured("p50", answer.P50us, "us")
	found.alsoMeasured("p99", answer.P99us, "us")
	found.alsoMeasured("rate", float64(messages)/answer.ElapsedNs*1e9, unit)
	return found, nil
}

// Starts the client, and lets it exchange messages with the server of the listener.
func measureClient(listener net.Listener, messages int, unit string) (*measurement, error) {
	process, client, err := startClient()
	if err != nil {
		return nil, err
	}
	found, err := measureExchange(client, uint16(listener.Addr().(*net.TCPAddr).Port), messages, unit)
	client.Close() // it no longer waits for commands
	process.Wait()
	return found, err
}

func mayHaveDescriptors(count int) bool {
	var limit syscall.Rlimit // package os has raised it to the maximum
	return syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur >= uint64(count)
}

func echo(asked options) (*measurement, error) {
	if asked.name != "echo" || !mayHaveDescriptors(asked.connections+asked.idle+100) {
		return nil, nil
	}
	bufferBytes := 4096
	if asked.size > bufferBytes {
		bufferBytes = 1 << 16
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go serve(listener, bufferBytes)
	return measureClient(listener, asked.count, "messages/s")
}
