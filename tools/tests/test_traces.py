"""Tests of tools/traces.py, with stand-ins for the recorders and for java: what is odd is not
explained."""

import contextlib
import io
import json
import os
import unittest
from unittest import mock

from temporary_tree import TemporaryTree

import traces

# A stand-in for TLC. It explains each trace of TraceData, one a line, without an operation `odd`.
# As its progress it reports the second call of thread 2. It requires its own temporary folder,
# because each TLC deletes its temporary files.
TLC = r"""#!/bin/sh
case "$*" in *" -Djava.io.tmpdir=. "*) ;; *) exit 1 ;; esac
if grep -q Progress trace.cfg; then
    echo '<<"came to", 1, <<1, 1>>>>'
    echo '<<"came to", 1, <<1, 2>>>>'
else
    awk '/^<</ { number++; if (!/odd/) printf "<<\"explained\", %d>>\n", number }' TraceData.tla
fi
echo '70 states generated, 1,234 distinct states found, 0 states left on queue.'
"""

PUSH = "trace\n1 0 3 push 7 TRUE\n2 1 2 take 0 <<7>>\n2 4 5 take 0 <<>>\n"
OTHER = "trace\n1 0 1 push 8 TRUE\n2 2 3 take 0 <<8>>\n"
ODD = "trace\n1 0 3 push 7 TRUE\n2 1 2 take 0 <<7>>\n2 4 5 odd 0 <<9>>\n"


class Traces(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("spec/Lamp.tla")
        self.write("spec/traces/LampTrace.tla")
        self.write("spec/traces/Trace.tla")
        self.write("spec/traces/LampTrace.cfg", "SPECIFICATION TraceSpec\n")
        self.write("jar")
        self.program("bin/java", TLC)
        path = f"{self.root}/bin{os.pathsep}{os.environ['PATH']}"
        for patch in (mock.patch.object(traces, "SPECS", self.root / "spec"),
                      mock.patch.object(traces, "LEAST", 2),
                      mock.patch.object(traces, "LEAST_OF_EACH", 1),
                      mock.patch.object(traces, "LEAST_FOUND_COUNT", 1),
                      mock.patch.object(traces, "PAGE", self.root / "page.md"),
                      mock.patch.object(traces, "BUILD", self.root / "traces"),
                      mock.patch.object(traces.verify, "fetch_tlc", lambda: self.root / "jar"),
                      mock.patch.dict(os.environ, {"PATH": path})):
            self.enterContext(patch)
        self.records({"code": PUSH + OTHER, "broken": ODD + PUSH})

    def program(self, name, text):
        self.write(name, text)
        (self.root / name).chmod(0o755)

    def records(self, variants):
        """What the recorder of the model checker writes without a planted bug; with one, a trace
        that is odd. The
        other recorder writes nothing."""
        script = f"#!/bin/sh\ncase $2 in *.*) printf '%s' '{ODD}' > $1/$2.trace; exit;; esac\n" + "".join(
            f"printf '%s' '{text}' > $1/Lamp.{name}.trace\n" for name, text in variants.items())
        self.program("build/tests/traces/trace_recorder", script)
        self.program("build/tests/traces/trace_recorder_on_threads", "#!/bin/sh\n")
        self.write("build/tests/traces/planted.txt")

    def run_tool(self, *arguments):
        """The exit code, the failures, and the result of the one batch."""
        errors = io.StringIO()
        with mock.patch("sys.argv", ["traces", "--build", str(self.root / "build"), *arguments]), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = traces.main()
        return code, errors.getvalue(), json.loads((self.root / "traces/summary.json").read_text())[0]

    def test_all_are_explained_and_the_planted_bug_is_found(self):
        code, errors, result = self.run_tool()
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual((result["traces"], result["explained"], result["events"]), (2, 2, 5))
        self.assertEqual(result["bugs"], {"broken": {"traces": 2, "rejected": 1}})
        self.assertEqual(result["states"], 1234)

    def test_each_listed_bug_is_recorded_by_its_recorder(self):
        self.write("build/tests/traces/planted.txt", "trace_recorder Lamp.listed\n"
                                                     "trace_recorder_on_threads Lamp.on-threads-alone\n")
        _, _, result = self.run_tool()
        self.assertEqual(result["bugs"], {"broken": {"traces": 2, "rejected": 1},
                                          "listed": {"traces": 1, "rejected": 1}})

    def test_the_table_of_a_page(self):
        self.write("page.md", "<!-- figures: traces -->\n<!-- /figures -->\n")
        self.assertEqual(self.run_tool("--write")[0], 0)
        lines = (self.root / "page.md").read_text().splitlines()
        self.assertEqual(lines[3], "| Lamp | model | 2 | 5 | 1,234 | 2 | 1 of 2 `broken` |")
        self.assertEqual(lines[4], "| all |  | 2 | 5 | 1,234 | 2 | 1 |")

    def test_the_data_has_a_line_for_each_trace_and_a_sequence_for_each_thread(self):
        self.records({"code": PUSH})
        self.run_tool("--only", "Lamp")
        data = (self.root / "traces/model/Lamp/TraceData.tla").read_text()
        self.assertIn('\n<<<<<<0,3,"push",7,TRUE>>>>,'
                      '<<<<1,2,"take",0,<<7>>>>,<<4,5,"take",0,<<>>>>>>>>\n', data)

    def test_the_same_trace_counts_once(self):
        self.records({"code": PUSH + OTHER + PUSH})
        _, _, result = self.run_tool()
        self.assertEqual(result["traces"], 2)

    def test_a_trace_that_is_not_explained_fails_and_its_calls_are_shown(self):
        self.records({"code": PUSH + ODD})
        code, errors, result = self.run_tool()
        self.assertEqual((code, result["explained"]), (1, 1))
        self.assertIn("Lamp (model): 1 traces are not explained", errors)
        self.assertIn("     1    2  thread 2  take(0) = <<7>>\n", errors)
        self.assertIn("  >    0    3  thread 1  push(7) = TRUE\n", errors)
        self.assertIn("  >    4    5  thread 2  odd(0) = <<9>>\n", errors)

    def test_a_planted_bug_that_is_explained_fails(self):
        self.records({"code": PUSH, "broken": PUSH + OTHER})
        code, errors, _ = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("the planted bug broken is found in 0 of 2 traces only", errors)

    def test_a_planted_bug_that_hardly_shows_fails(self):
        different = "".join(PUSH.replace("7", str(number)) for number in range(10, 25))
        self.records({"code": PUSH + OTHER, "broken": different + ODD})
        code, errors, _ = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("the planted bug broken is found in 1 of 16 traces only", errors)

    def test_a_planted_bug_that_shows_in_few_traces_fails(self):
        with mock.patch.object(traces, "LEAST_FOUND_COUNT", 2):
            code, errors, _ = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("the planted bug broken is found in 1 of 2 traces only", errors)

    def test_too_few_traces_of_one_specification_fail_unless_fewer_were_asked_for(self):
        with mock.patch.object(traces, "LEAST_OF_EACH", 3):
            code, errors, _ = self.run_tool()
            self.assertEqual((code, errors),
                             (1, "traces: Lamp (model): 2 different traces of the code: fewer than 3\n"))
            self.assertEqual(self.run_tool("--only", "Lamp")[0], 0)

    def test_too_few_traces_of_the_code_fail_unless_fewer_were_asked_for(self):
        self.records({"code": PUSH + PUSH, "broken": ODD})
        code, errors, _ = self.run_tool()
        self.assertEqual((code, errors), (1, "traces: 1 different traces of the code were checked: fewer than 2\n"))
        self.assertEqual(self.run_tool("--only", "Lamp")[0], 0)
        self.assertEqual(self.run_tool("--traces", "1")[0], 0)

    def test_a_specification_without_traces_of_the_code_fails(self):
        self.records({"broken": ODD})
        code, errors, _ = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("Lamp (model): there is no trace of the code", errors)

    def test_tlc_that_breaks_is_an_error(self):
        self.program("bin/java", "#!/bin/sh\nexit 150\n")
        with self.assertRaisesRegex(RuntimeError, "TLC failed \\(150\\)"):
            self.run_tool()

    def test_an_unknown_specification_is_an_error(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            self.run_tool("--only", "Lantern")


if __name__ == "__main__":
    unittest.main()
