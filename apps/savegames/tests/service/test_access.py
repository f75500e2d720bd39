"""Access control: tokens, and requests of web pages to a service without tokens."""

import pathlib
import signal
import tempfile
import unittest

from service import Server, ServiceTest, save_path, wait_for

CHESS = "token-of-chess-0123456789"
SNAKE = "token-of-snake-0123456789"


def bearer(token):
    return [f"Authorization: Bearer {token}"]


class Tokens(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.file = pathlib.Path(folder) / "tokens"
        self.file.touch(mode=0o600)
        self.file.write_text(f"# games\nchess {CHESS}\nsnake {SNAKE}\n", encoding="ascii")
        self.server = self.enterContext(Server("--tokens", str(self.file)))

    def test_each_game_has_its_token(self):
        ask = self.server.ask
        path = save_path("anna", "chess")
        for method, where, body in (("GET", path, None), ("PUT", path, b"{}"),
                                    ("DELETE", path, None), ("POST", path + "/update", b"{}")):
            answer = ask(method, where, body)
            self.assertEqual(answer.status, 401)
            self.assertTrue(answer.headers["www-authenticate"].startswith("Bearer"))
            for wrong in (SNAKE, CHESS + "x", CHESS[:-1], CHESS.upper(), "x"):
                self.assertEqual(ask(method, where, body, bearer(wrong)).status, 403)
            self.assertEqual(ask(method, where, body, ["Authorization: Basic YTpi"]).status, 401)
            self.assertEqual(ask(method, where, body, ["Authorization: Bearer"]).status, 401)
        self.assertEqual(ask("GET", path, None, bearer(CHESS)).status, 404)  # no write happened
        self.assertEqual(ask("PUT", path, b"{}", bearer(CHESS)).status, 200)
        self.assertEqual(ask("GET", path, None, ["authorization: bearer " + CHESS]).status, 200)
        self.assertEqual(ask("GET", save_path("anna", "go"), None, bearer(CHESS)).status, 403)
        # Every spelling of the game needs its token.
        self.assertEqual(ask("GET", save_path("anna", "ch%65ss"), None, bearer(CHESS)).status, 200)
        self.assertEqual(ask("GET", save_path("anna", "ch%65ss"), None, bearer(SNAKE)).status, 403)
        self.assertEqual(ask("GET", "/healthz").status, 200)
        self.assertEqual(ask("GET", "/stats").status, 200)  # from this machine

    def test_other_names_and_pages_are_welcome_with_a_token(self):
        answer = self.server.ask("PUT", save_path("anna", "chess"), b"{}",
                                 bearer(CHESS) + ["Origin: https://game.example"])
        self.assertEqual(answer.status, 200)

    def test_refused_body_is_not_read(self):
        with self.server.client() as client:
            client.send(b"PUT /games/chess/saves/anna HTTP/1.1\r\nHost: x\r\n"
                        b"Content-Length: 4000000\r\n\r\n")
            self.assertEqual(client.read().status, 401)

    def test_tokens_are_read_again(self):
        path = save_path("anna", "chess")
        self.file.write_text(f"chess {SNAKE}\n", encoding="ascii")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.server.ask("PUT", path, b"{}", bearer(SNAKE)).status == 200,
                 "the new token")
        self.assertEqual(self.server.ask("GET", path, None, bearer(CHESS)).status, 403)
        self.file.write_text("nonsense\n", encoding="ascii")
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "unchanged" in self.server.complaints(), "the refusal")
        self.assertEqual(self.server.ask("GET", path, None, bearer(SNAKE)).status, 200)


class WithoutTokens(ServiceTest):
    def test_pages_of_a_browser_are_refused(self):
        for header in ("Origin: https://evil.example", "Origin: null"):
            answer = self.ask("PUT", self.player(), b"{}", [header])
            self.assert_error(answer, 403, "forbidden")

    def test_names_that_resolve_to_this_machine_are_refused(self):
        for host, status in (("evil.example", 403), ("evil.example:80", 403), ("10.0.0.1", 403),
                             ("127.0.0.1.evil.example", 403), ("localhost", 200),
                             ("LOCALHOST:8080", 200), ("127.0.0.1:1", 200), ("[::1]:80", 200),
                             ("[::1]", 200), ("localhost:", 200), ("[2001:db8::1]", 403),
                             ("%6cocalhost", 403), ("[v1.x]", 400),
                             ("[::1].evil", 400), ("[::1", 400), ("::1", 400), ("[::1]80", 400),
                             ("localhost:80@evil", 400), ("localhost:80:80", 400),
                             ("user@localhost", 400), ("localhost/evil", 400),
                             ("localhost:x", 400), ("localhost, evil", 400), ("[127.0.0.1]", 400),
                             ("[::1%25lo]", 400), ("%6", 400), ("local host", 400)):
            with self.subTest(host), self.server.client() as client:
                client.send(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                self.assertEqual(client.read().status, status)


if __name__ == "__main__":
    unittest.main()
