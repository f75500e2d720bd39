"""Deadlines and traces that clients send along with their requests."""

import unittest

from service import Client, Server, save_path, wait_for

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"traceparent: 00-{TRACE}-b7ad6b7169203331-01"


class Deadlines(unittest.TestCase):
    def test_overdue_requests_are_answered_and_logged(self):
        for scheduler in ("fairlead", "updater", "trivial"):
            with self.subTest(scheduler), Server("--store-latency", "5s", "--log-requests",
                                                 "failed", "--scheduler", scheduler) as server:
                with Client(server.port) as client:
                    late = client.ask("GET", save_path("anna"),
                                      headers=["X-Request-Timeout: 50", CALLER])
                    self.assertEqual(late.status, 504)
                    self.assertEqual(late.json()["error"], "deadline")
                    # The connection goes on.
                    self.assertEqual(client.ask("GET", "/healthz").status, 200)
                    stats = server.stats()
                    self.assertEqual(stats["requests"]["get"]["504"], 1)
                wait_for(lambda: f"trace={TRACE} kind=get status=504" in server.complaints(),
                         "the line of the request in the log")

    def test_a_request_in_time_is_not_logged_as_failed(self):
        with Server("--log-requests", "failed") as server, Client(server.port) as client:
            stored = client.ask("PUT", save_path("anna"), b"{}",
                                headers=["X-Request-Timeout: 60000", CALLER])
            self.assertEqual(stored.status, 200)
            self.assertNotIn(TRACE, server.complaints())

    def test_a_wrong_timeout_is_refused(self):
        with Server() as server, Client(server.port) as client:
            for wrong in ("soon", "1.5", "-1"):
                answer = client.ask("GET", save_path("anna"),
                                    headers=[f"X-Request-Timeout: {wrong}"])
                self.assertEqual(answer.status, 400, wrong)


if __name__ == "__main__":
    unittest.main()
