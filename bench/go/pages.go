// W21: net/http, which has a goroutine for each connection.
package main

import (
	"net"
	"net/http"
)

// Path, type and body, as in ../w21/client.hpp.
var pages = map[string]struct {
	kind []string
	body []byte
}{
	"/plaintext": {[]string{"text/plain"}, []byte("Hello, World!")},
	"/json":      {[]string{"application/json"}, []byte(`{"message":"Hello, World!"}`)},
}

func answerPage(to http.ResponseWriter, asked *http.Request) {
	page, known := pages[asked.URL.Path]
	if !known {
		http.NotFound(to, asked)
		return
	}
	fields := to.Header()
	fields["Server"] = serverName
	fields["Content-Type"] = page.kind
	to.Write(page.body)
}

var serverName = []string{"go"}

func servePages(asked options) (*measurement, error) {
	if _, known := pages["/"+asked.name]; !known || !mayHaveDescriptors(asked.connections+100) {
		return nil, nil
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, http.HandlerFunc(answerPage))
	return measureClient(listener, asked.count, "answers/s")
}
