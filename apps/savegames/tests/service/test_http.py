"""The protocol: framing, limits, and clients that are slow, broken or hostile."""

import unittest

from service import Server, ServiceTest, request, save_path, wait_for

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


class Framing(ServiceTest):
    def test_connection_is_kept(self):
        with self.server.client() as client:
            for _ in range(3):
                answer = client.ask("GET", "/healthz")
                self.assertEqual(answer.status, 200)
                self.assertNotIn("connection", answer.headers)

    def test_connection_is_closed_when_asked(self):
        with self.server.client() as client:
            answer = client.ask("GET", "/healthz", headers=["Connection: close"])
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(client.ended())

    def test_http_1_0(self):
        with self.server.client() as client:
            client.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            self.assertEqual(client.read().headers["connection"], "close")
            self.assertTrue(client.ended())
        with self.server.client() as client:
            for _ in range(2):
                client.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                self.assertEqual(client.read().headers["connection"], "keep-alive")

    def test_pipelined_requests_are_answered_in_order(self):
        path = self.player()
        bodies = [b'{"turn":%d}' % i for i in range(40)]
        with self.server.client() as client:
            client.send(b"".join(request("PUT", path, body) + request("GET", path)
                                 for body in bodies))
            for i, body in enumerate(bodies):
                self.assertEqual(client.read().version(), i + 1)
                self.assertEqual(client.read().body, body)

    def test_byte_by_byte(self):
        with self.server.client() as client:
            for byte in request("PUT", self.player(), b'{"a":1}'):
                client.send(bytes([byte]))
            self.assertEqual(client.read().status, 200)

    def test_head(self):
        with self.server.client() as client:
            answer = client.ask("HEAD", "/healthz")
            self.assertGreater(int(answer.headers["content-length"]), 0)
            self.assertEqual(client.ask("GET", "/healthz").status, 200)

    def test_empty_lines_before_a_request(self):
        with self.server.client() as client:
            for start in (b"\r\n", b"\r\n\r\n\r\n"):
                client.send(start + HEAD + b"\r\n")
                self.assertEqual(client.read().status, 200)

    def test_half_closed_client_is_answered(self):
        with self.server.client() as client:
            client.send(request("PUT", self.player(), b"{}"))
            client.socket.shutdown(1)
            self.assertEqual(client.read().status, 200)
            self.assertTrue(client.ended())

    def test_expectations(self):
        head = request("PUT", self.player(), None, ["Content-Length: 2", "Expect: 100-continue"])
        with self.server.client() as client:
            client.send(head)
            self.assertEqual(client.read().status, 100)
            client.send(b"{}")
            self.assertEqual(client.read().status, 200)
        with self.server.client() as client:  # refused before the body
            client.send(request("PUT", "/nowhere", None,
                                ["Content-Length: 2", "Expect: 100-continue"]))
            self.assertEqual(client.read().status, 404)
        with self.server.client() as client:
            client.send(request("PUT", self.player(), b"{}", ["Expect: a miracle"]))
            self.assertEqual(client.read().status, 417)

    def test_chunked(self):
        path = self.player()
        head = request("PUT", path, None, ["Transfer-Encoding: chunked"])
        with self.server.client() as client:
            client.send(head + b"3\r\n{\"a\r\n")
            client.send(b"4;name=value\r\n\":1}\r\n")
            client.send(b"0\r\nTrailer: x\r\n\r\n")
            self.assertEqual(client.read().status, 200)
            self.assertEqual(client.ask("GET", path).body, b'{"a":1}')
            for piece in (head, b"0", b"\r", b"\n", b"\r", b"\n"):  # an empty body, byte by byte
                client.send(piece)
            self.assert_error(client.read(), 400, "bad_request")  # not JSON, but good HTTP
            self.assertEqual(client.ask("GET", "/healthz").status, 200)


class Malformed(ServiceTest):
    def refused(self, data, status, code="bad_request"):
        with self.subTest(data[:60]), self.server.client() as client:
            client.send(data)
            answer = client.read()
            self.assert_error(answer, status, code)
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(client.ended())

    def test_heads(self):
        for data in (b"hello\r\n\r\n", b"GET\r\n\r\n", b"GET /healthz\r\n\r\n",
                     b"GET /healthz HTTP/1.1\n\n\r\n\r\n",
                     b"GET  /healthz HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
                     HEAD + b"no colon\r\n\r\n", HEAD + b"a b: c\r\n\r\n",
                     HEAD + b"x: \x00\r\n\r\n", HEAD + b"Host: other\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n",
                     HEAD + b"Authorization: a\r\nAuthorization: b\r\n\r\n"):
            self.refused(data, 400)

    def test_versions(self):
        for version in (b"2.0", b"1.2", b"0.9"):
            self.refused(b"GET /healthz HTTP/" + version + b"\r\n\r\n", 505)

    def test_lines_that_begin_with_a_space(self):
        for data in (HEAD + b"Authorization: Bearer\r\n a\r\n\r\n",
                     HEAD + b"Authorization:\r\n\tBearer a\r\n\r\n",
                     HEAD + b"X: y\r\n Content-Length: 3\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n",
                     b"GET /healthz HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n"):
            self.refused(data, 400)

    def test_lengths(self):
        for field in (b"Content-Length: -1", b"Content-Length: x", b"Content-Length: 1, 2",
                      b"Content-Length: 1\r\nContent-Length: 2",
                      b"Content-Length: 99999999999999999999999",
                      b"Content-Length: 3, 3", b"Content-Length: 3,",
                      b"Content-Length: 3\r\nContent-Length: 3",
                      b"Content-Length: 0\r\nContent-Length: 0",
                      b"Content-Length: 3\r\nTransfer-Encoding: chunked",
                      b"Content-Length: 3\r\nTransfer-Encoding: gzip",
                      b"Content-Length: 3\r\nTransfer-Encoding:",
                      b"Transfer-Encoding:\r\nContent-Length: 3",
                      b"Transfer-Encoding:\r\nTransfer-Encoding: gzip\r\nContent-Length: 3",
                      b"Transfer-Encoding:", b"Content-Length: 3\r\nTransfer-Encoding: ,",
                      b"Transfer-Encoding:\r\nTransfer-Encoding: chunked",
                      b"Transfer-Encoding: chunked\r\nTransfer-Encoding:"):
            self.refused(HEAD + field + b"\r\n\r\nabc", 400)
        self.refused(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501)
        self.refused(b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400)

    def test_chunks(self):
        head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        for body in (b"x\r\n", b"-1\r\n", b"2\r\nabc\r\n0\r\n\r\n", b"fffffffffffffffffff\r\n"):
            self.refused(head + body, 400)
        self.refused(head + b"1;" + b"x" * 100_000, 431, "too_large")  # an endless extension
        self.refused(head + b"0\r\n" + b"a: b\r\n" * 20_000, 431, "too_large")  # endless trailers
        self.refused(head + b"0\r\n" + b"a: b\r\n" * 5_000 + b"\r\n", 431, "too_large")
        self.refused(head + b"1;x=" + b"y" * 20_000 + b"\r\n1\r\n0\r\n\r\n", 431, "too_large")

    def test_large_heads(self):
        self.refused(b"GET /" + b"x" * 20_000, 431, "too_large")
        self.refused(HEAD + b"x: " + b"y" * 20_000, 431, "too_large")
        self.refused(HEAD + b"x: y\r\n" * 5_000, 431, "too_large")

    def test_client_that_goes_away(self):
        for data in (b"", b"GET /heal"):
            with self.server.client() as client:
                client.send(data)
                client.socket.shutdown(1)
                self.assertTrue(client.ended())
        with self.server.client() as client:  # its head was understood
            client.send(request("PUT", self.player(), b"{}")[:-1])
            client.socket.shutdown(1)
            self.assert_error(client.read(), 400, "bad_request")
            self.assertTrue(client.ended())


class Limits(ServiceTest):
    options = ("--body-max", "10000", "--max-connections", "8", "--read-timeout", "1",
               "--idle-timeout", "3", "--write-timeout", "1")

    def test_large_bodies(self):
        path = self.player()
        self.assertEqual(self.ask("PUT", path, b'{"x":"' + b"x" * 9_992 + b'"}').status, 200)
        answer = self.ask("PUT", path, b'{"x":"' + b"x" * 9_993 + b'"}')
        self.assert_error(answer, 413, "too_large")
        self.assertEqual(answer.headers["connection"], "close")
        # The answer arrives even if the client sends its whole body before it reads.
        self.assert_error(self.ask("PUT", path, b"x" * 5_000_000), 413, "too_large")
        with self.server.client() as client:
            client.send(request("PUT", path, None, ["Transfer-Encoding: chunked"]) +
                        b"2710\r\n" + b"x" * 10_000 + b"\r\n1\r\nx\r\n")
            self.assert_error(client.read(), 413, "too_large")
            self.assertTrue(client.ended())
        self.assertEqual(self.ask("GET", path).version(), 1)
        # An update whose result is too large changes nothing.
        self.assert_error(self.ask("POST", path + "/update", b'{"y":"%s"}' % (b"y" * 9_990)), 413)

    def test_huge_length(self):
        with self.server.client() as client:
            client.send(HEAD + b"Content-Length: 9223372036854775807\r\n\r\n")
            self.assert_error(client.read(), 413, "too_large")
        with self.server.client() as client:  # 20 digits
            client.send(HEAD + b"Content-Length: 18446744073709551615\r\n\r\n")
            self.assert_error(client.read(), 400, "bad_request")

    def test_slow_clients(self):
        whole = request("PUT", self.player(), b"{}")
        for data in (b"G", whole[:20], whole[:-1],
                     request("PUT", "/", None, ["Transfer-Encoding: chunked"])[:-2],
                     request("PUT", self.player(), None, ["Transfer-Encoding: chunked"]) + b"1"):
            with self.subTest(data), self.server.client() as client:
                client.send(data)
                answer = client.read()
                self.assert_error(answer, 408, "timeout")
                self.assertTrue(client.ended())

    def test_idle_clients_are_closed(self):
        with self.server.client() as client:
            self.assertEqual(client.ask("GET", "/healthz").status, 200)
            self.assertTrue(client.ended())

    def test_more_clients_than_places(self):
        before = self.server.stats()["connections"]
        clients = [self.server.client() for _ in range(8)]
        for client in clients:  # they take all places, and send no request
            self.assertEqual(client.ask("GET", "/healthz").status, 200)
        self.assertEqual(self.ask("GET", "/healthz").status, 200)  # an idle connection made room
        connections = self.server.stats()["connections"]
        self.assertGreater(connections["evicted"] + connections["waited"],
                           before["evicted"] + before["waited"])
        for client in clients:
            client.close()


class SlowReader(unittest.TestCase):
    def test_write_timeout(self):
        with Server("--write-timeout", "0.5") as server:
            server.ask("PUT", save_path("anna"), b'"' + b"x" * 3_000_000 + b'"')
            with server.client() as client:
                # The answers are larger than what the sockets hold.
                client.send(request("GET", save_path("anna")) * 8)
                wait_for(lambda: "get" in server.stats()["requests"], "an answer")
                wait_for(lambda: server.stats()["connections"]["open"] == 1, "the end of it")
                wait_for(lambda: server.stats()["memory"]["bodies"] == 0, "the memory")


class Memory(unittest.TestCase):
    def test_bodies_under_way_are_limited(self):
        with Server("--memory-max", "4") as server:
            half = request("PUT", save_path("anna"), None, ["Content-Length: 3000000"])
            with server.client() as first:
                first.send(half + b"[")
                wait_for(lambda: server.stats()["memory"]["bodies"] > 0, "the first body")
                answer = server.ask("PUT", save_path("bert"), None, ["Content-Length: 3000000"])
                self.assertEqual((answer.status, answer.headers["retry-after"]), (503, "1"))
                self.assertEqual(server.ask("PUT", save_path("carl"), b"{}").status, 200)
            wait_for(lambda: server.stats()["memory"]["bodies"] == 0, "the memory")


if __name__ == "__main__":
    unittest.main()
