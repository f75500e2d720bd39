"""HTTPS: the certificate of the service, its clients, and clients that speak no TLS."""

import errno
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

from service import BINARY, PATIENCE, Client, Server, request, save_path, wait_for


def make_certificate(folder, name):
    """A certificate for this machine, which signs itself. Returns its path, and that of its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
         "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=PATIENCE)
    return certificate, key


def trusting(certificate):
    context = ssl.create_default_context(cafile=str(certificate))
    context.set_alpn_protocols(["http/1.1"])
    return context


class Https(unittest.TestCase):
    options = ()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.certificate, self.key = make_certificate(self.folder, "first")
        self.server = self.enterContext(Server(
            "--certificate", str(self.certificate), "--key", str(self.key), *self.options,
            tls=trusting(self.certificate)))

    def curl(self, *options):
        return subprocess.run(["curl", "-sS", *options], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)


class Answers(Https):
    def test_curl(self):
        url = self.server.url + save_path("anna")
        self.assertTrue(url.startswith("https://127.0.0.1:"))
        trust = ("--cacert", str(self.certificate))
        put = self.curl(*trust, "-X", "PUT", "--data", '{"gold":1}', url)
        self.assertEqual(put.returncode, 0, put.stderr)
        self.assertIn('"version":1', put.stdout)
        self.assertEqual(self.curl(*trust, url).stdout, '{"gold":1}')
        self.assertEqual(self.curl(*trust, "--tls-max", "1.2", url).stdout, '{"gold":1}')
        stranger = self.curl(url)
        self.assertEqual(stranger.returncode, 60, stranger.stderr)  # the certificate is not trusted

    def test_a_connection_is_kept_and_ends_with_a_word(self):
        large = b'"' + b"x" * 3_000_000 + b'"'
        with self.server.client() as client:
            self.assertEqual(client.socket.selected_alpn_protocol(), "http/1.1")
            self.assertEqual(client.ask("PUT", save_path("anna"), large).status, 200)
            client.send(request("GET", "/healthz") * 3 + request("GET", save_path("anna")))
            self.assertEqual([client.read().status for _ in range(3)], [200] * 3)
            self.assertEqual(client.read().body, large)
            answer = client.ask("GET", "/healthz", headers=["Connection: close"])
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(client.ended())  # by close_notify: the client reads strictly

    def test_byte_by_byte(self):
        with self.server.client() as client:
            for byte in request("PUT", save_path("bert"), b"{}"):
                client.send(bytes([byte]))
            self.assertEqual(client.read().status, 200)

    def test_malformed_requests_are_refused(self):
        with self.server.client() as client:
            client.send(b"GET /healthz HTTP/1.1\r\n\r\n")
            self.assertEqual(client.read().status, 400)
            self.assertTrue(client.ended())

    def test_statistics_are_for_this_machine(self):
        self.assertEqual(self.server.ask("GET", "/stats").status, 200)

    def test_clients_without_tls(self):
        for sent in (request("GET", "/healthz"), b"\x16\x03\x01\xff\xff" + b"x" * 70_000, b""):
            with self.subTest(sent[:10]), Client(self.server.port) as plain:
                try:
                    plain.send(sent)
                    plain.socket.shutdown(socket.SHUT_WR)
                    while plain.fill():
                        pass
                except ConnectionError:
                    pass
                except OSError as error:  # shutdown() of a connection that the server has reset
                    self.assertEqual(error.errno, errno.ENOTCONN)
                self.assertNotIn(b"HTTP/1.1 200", plain.buffer)
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)

    def test_memory_counts(self):
        with self.server.client() as asking:  # one, so that no ended one counts
            def held():
                return asking.ask("GET", "/stats").json()["memory"]["connections"]

            before = held()
            clients = [self.server.client() for _ in range(10)]
            wait_for(lambda: held() - before == 10 * (24 + 4) * 1024, "what ten connections hold")
            for client in clients:
                client.close()
            wait_for(lambda: held() == before, "the memory")


class Certificates(Https):
    def seen(self):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with Client(self.server.port, tls=context) as client:
            return client.socket.getpeercert(binary_form=True)

    def test_are_read_again(self):
        def der(path):
            return ssl.PEM_cert_to_DER_cert(path.read_text(encoding="ascii"))

        self.assertEqual(self.seen(), der(self.certificate))
        with self.server.client() as old:
            second, second_key = make_certificate(self.folder, "second")
            second.rename(self.certificate)
            self.server.process.send_signal(signal.SIGHUP)  # the key does not fit
            wait_for(lambda: "certificate unchanged" in self.server.complaints(), "the refusal")
            second_key.rename(self.key)
            self.server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: self.seen() == der(self.certificate), "the new certificate")
            self.assertEqual(old.ask("GET", "/healthz").status, 200)
            old.close()
            self.server.tls = trusting(self.certificate)
            self.assertEqual(self.server.ask("GET", "/healthz").status, 200)


class SlowHandshakes(Https):
    options = ("--read-timeout", "1")

    def test_end(self):
        with Client(self.server.port) as silent:
            self.assertTrue(silent.ended())


class Places(Https):
    PLACES = 8
    options = ("--max-connections", str(PLACES), "--read-timeout", "3000")

    def test_a_slow_handshake_keeps_no_place(self):
        slow = [Client(self.server.port) for _ in range(2 * self.PLACES)]
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
        for client in slow:
            client.close()


class Ending(Https):
    def test_nothing_was_begun(self):
        with self.server.client() as idle, self.server.client() as half:
            self.assertEqual(idle.ask("GET", "/healthz").status, 200)
            half.send(b"GET /healthz HTTP/1.1\r\nHo")
            self.server.await_requests(1)
            with Client(self.server.port):  # no handshake
                self.server.await_requests(2)
                self.server.terminate()
                answer = half.read()
                self.assertEqual(answer.status, 503)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(half.ended())
                self.assertTrue(idle.ended())
            self.assertNotIn("cut off", self.server.stop())


class WrongFiles(unittest.TestCase):
    def test_are_refused(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            certificate, key = make_certificate(folder, "one")
            _, other = make_certificate(folder, "other")
            for options, word in ((["--certificate", str(certificate)], "--key"),
                                  (["--key", str(key)], "--certificate"),
                                  (["--certificate", "/nonexistent", "--key", str(key)],
                                   "/nonexistent"),
                                  (["--certificate", str(certificate), "--key", str(other)], "key"),
                                  (["--certificate", str(key), "--key", str(key)], "one.key"),
                                  (["--certificate", "", "--key", str(key)], "empty")):
                with self.subTest(options):
                    ended = subprocess.run(
                        [BINARY, "--db", str(folder / "saves.db"), *options], capture_output=True,
                        text=True, timeout=PATIENCE, check=False)
                    self.assertNotEqual(ended.returncode, 0)
                    self.assertEqual(ended.stdout, "")
                    self.assertIn(word, ended.stderr)


if __name__ == "__main__":
    unittest.main()
