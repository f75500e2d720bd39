import unittest

from temporary_tree import TemporaryTree
import layers


class Layers(TemporaryTree):
    def setUp(self):
        super().setUp()
        self.write("include/fairlead/base/time.hpp", "#include <chrono>\n")
        self.write("include/fairlead/detail/sync/atomic.hpp", "#include <atomic>\n")
        self.write("include/fairlead/sched/task.hpp", "#include <fairlead/base/time.hpp>\n")
        self.write("include/fairlead/sim/world.hpp")
        self.write("src/sched/round/role.hpp")
        self.write("include/fairlead/fairlead.hpp",
                   "#include <fairlead/base/time.hpp>\n#include <fairlead/sched/task.hpp>\n")

    def find(self, path, *lines):
        self.write(path, "\n".join(lines) + "\n")
        return layers.check(self.root)

    def test_a_clean_tree(self):
        self.assertEqual(self.find(
            "src/sched/round/role.cpp", '#include "sched/round/role.hpp"', "#include <vector>",
            "#include <fairlead/base/time.hpp>", "// #include <boost/asio.hpp>"), [])

    def test_what_a_row_names_brings_what_that_may_include(self):
        self.assertEqual(self.find("src/coro/a.cpp", "#include <fairlead/detail/sync/atomic.hpp>"), [])

    def test_a_higher_module(self):
        self.assert_finds(
            self.find("src/base/a.cpp", "#include <vector>", "#include <fairlead/sched/task.hpp>"),
            "src/base/a.cpp:2", "base may not include sched")

    def test_nothing_includes_sim(self):
        self.assert_finds(self.find("src/sched/a.cpp", "#include <fairlead/sim/world.hpp>"),
                          "src/sched/a.cpp:1", "sched may not include sim")

    def test_a_private_header_of_a_higher_module(self):
        self.assert_finds(self.find("src/timer/a.cpp", '#include "sched/round/role.hpp"'),
                          "src/timer/a.cpp:1", "timer may not include sched")

    def test_a_header_of_a_higher_folder_of_the_module(self):
        self.assertEqual(self.find("src/sched/runtime/core.hpp", '#include "sched/round/role.hpp"'), [])
        self.assert_finds(self.find("src/sched/round/admission.hpp", '#include "sched/runtime/core.hpp"'),
                          "src/sched/round/admission.hpp:1", "the headers of sched/round may not include runtime")

    def test_a_source_sees_the_whole_and_nothing_above(self):
        self.write("src/sched/runtime/core.hpp")
        self.write("src/sched/worker/worker.hpp")
        self.assertEqual(self.find("src/sched/round/role.cpp", '#include "sched/runtime/core.hpp"'), [])
        self.assert_finds(self.find("src/sched/round/role.cpp", '#include "sched/worker/worker.hpp"'),
                          "src/sched/round/role.cpp:1", "the sources of sched/round may not include worker")

    def test_a_file_of_the_module_in_no_folder(self):
        self.assert_finds(self.find("src/sched/a.cpp", '#include "sched/round/role.hpp"'),
                          "src/sched/a.cpp:1", "no row")
        (self.root / "src/sched/a.cpp").unlink()
        self.assert_finds(self.find("src/sched/misc/a.cpp", '#include "sched/round/role.hpp"'),
                          "src/sched/misc/a.cpp:1", "the folder misc of the module sched has no row")

    def test_one_header_of_a_module_allows_no_other(self):
        self.write("include/fairlead/sync/parker.hpp")
        self.assertEqual(self.find("src/lockfree/a.cpp", "#include <fairlead/detail/sync/atomic.hpp>"), [])
        self.assert_finds(self.find("src/lockfree/a.cpp", "#include <fairlead/sync/parker.hpp>"),
                          "src/lockfree/a.cpp:1", "lockfree may not include sync")

    def test_a_module_without_a_row(self):
        self.assert_finds(self.find("src/misc/a.cpp"), "src/misc/a.cpp:1", "no row")

    def test_a_third_party_header(self):
        self.assert_finds(self.find("src/io/a.cpp", "#include <boost/asio.hpp>"),
                          "src/io/a.cpp:1", "third-party")

    def test_a_third_party_header_that_a_module_may_include(self):
        self.assertEqual(self.find("src/tls/a.cpp", "#include <openssl/ssl.h>"), [])
        self.assert_finds(self.find("src/tls/a.cpp", "#include <boost/asio.hpp>"),
                          "src/tls/a.cpp:1", "third-party")
        (self.root / "src/tls/a.cpp").unlink()
        self.assert_finds(self.find("include/fairlead/tls/a.hpp", "#include <openssl/ssl.h>"),
                          "include/fairlead/tls/a.hpp:1", "third-party")

    def test_system_headers_are_for_os_and_io(self):
        self.assertEqual(self.find("src/os/a.cpp", "#include <sys/mman.h>", "#include <unistd.h>"),
                         [])
        self.assert_finds(self.find("src/sched/a.cpp", "#include <unistd.h>"),
                          "src/sched/a.cpp:1", "operating system")

    def test_a_forbidden_standard_header(self):
        self.assert_finds(self.find("src/sched/a.cpp", "#include <coroutine>"),
                          "src/sched/a.cpp:1", "must not include")

    def test_a_public_header_sees_no_private_one(self):
        self.assert_finds(
            self.find("include/fairlead/sched/a.hpp", '#include "sched/round/role.hpp"'),
            "include/fairlead/sched/a.hpp:1", "public headers")

    def test_spelling_of_includes(self):
        for line in ('#include "role.hpp"', '#include "../round/role.hpp"',
                     '#include "fairlead/base/time.hpp"', "#include <fairlead/base/none.hpp>"):
            with self.subTest(line):
                self.assert_finds(self.find("src/sched/a.cpp", line), "src/sched/a.cpp:1", ":")

    def test_the_library_does_not_include_the_umbrella(self):
        self.assert_finds(self.find("src/sched/a.cpp", "#include <fairlead/fairlead.hpp>"),
                          "src/sched/a.cpp:1", "for users")

    def test_consumers_see_public_headers_only(self):
        for path in ("apps/savegames/main.cpp", "examples/01_hello/main.cpp", "bench/q1/main.cpp"):
            with self.subTest(path):
                public = ["#include <fairlead/fairlead.hpp>", "#include <sqlite3.h>"]
                self.assertEqual(self.find(path, *public), [])
                for private in ('"sched/round/role.hpp"', "<sched/round/role.hpp>"):
                    self.assert_finds(self.find(path, f"#include {private}"), f"{path}:1",
                                      "public headers only")
                (self.root / path).unlink()

    def test_consumers_reach_src_by_no_path(self):
        self.assert_finds(
            self.find("bench/q1/main.cpp", '#include "../../src/sched/round/role.hpp"'),
            "bench/q1/main.cpp:1", "public headers only")

    def test_consumers_have_headers_of_their_own(self):
        self.write("bench/support/timer.hpp")
        self.write("bench/q1/queue.hpp")
        self.assertEqual(self.find("bench/q1/main.cpp", '#include "support/timer.hpp"',
                                   '#include "queue.hpp"', '#include "../support/timer.hpp"'), [])

    def test_a_circle_of_files(self):
        self.write("src/coro/a.hpp", '#include "coro/b.hpp"\n')
        messages = self.find("src/coro/b.hpp", '#include "coro/a.hpp"')
        self.assert_finds(messages, "src/coro/a.hpp:1",
                          "src/coro/a.hpp -> src/coro/b.hpp -> src/coro/a.hpp")

    def test_a_circle_of_modules(self):
        table = self.root / "tools" / "layers.toml"
        table.write_text(table.read_text().replace("base = []", 'base = ["sched"]'))
        self.assert_finds(layers.check(self.root), "tools/layers.toml:1", "base -> sched -> base")


if __name__ == "__main__":
    unittest.main()
