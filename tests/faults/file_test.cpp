// Each call on a file fails with each error that it may have, moves one byte, or is interrupted.
#include "faults/sweep.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/tasks.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/io/whole_file.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cerrno>
#include <expected>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::test::file_tests {
namespace {

template <class T>
T run(task<T> body) {
    return simulation{}.run(std::move(body));
}

const std::string text(10'000, 'x');
constexpr io::open_options to_write{.use = io::file_use::read_write, .create = true};

// Everything that a file does.
task<> uses_a_file(const folder& files) {
    io::file one = must(co_await io::file::open(files.path_of("one"), to_write));
    must(co_await one.truncate(0));
    must(co_await one.write_at(std::as_bytes(std::span{text}), 5));
    must(co_await one.sync());
    must(co_await one.sync(io::sync_kind::all));
    must(co_await one.advise(io::file_advice::random));
    EXPECT_EQ(must(co_await one.status()).size, text.size() + 5);
    std::string read(text.size() + 1, '?');
    const auto count = must(co_await one.read_at(std::as_writable_bytes(std::span{read}), 5));
    EXPECT_EQ(count, text.size());
    read.resize(count);
    EXPECT_EQ(read, text);
    must(co_await one.close());
}

// A file is read, and replaced. Whatever fails, it is the old one or the new one, and the only one.
task<> replaces_a_file(const folder& files) {
    const std::string old = must(co_await io::read_file(files.path_of("one"), 1'000'000));
    const std::string replacement = old == text ? "short" : text;
    const auto replaced = co_await io::replace_file(files.path_of("one"), replacement);
    const std::string now = files.text_of("one");
    EXPECT_TRUE(now == replacement || (!replaced && now == old));
    EXPECT_EQ(files.files(), 1U);
    must(replaced);
}

void sweep_file(const fault& what, outcome right) {
    const folder files;
    sweep(what, right, [&] { run(uses_a_file(files)); });
}
void sweep_replaced(const fault& what, outcome right) {
    const folder files;
    files.put("one", "short");
    sweep(what, right, [&] { run(replaces_a_file(files)); });
}

// Once: a call that is interrupted each time has no end.
void interrupt(const char* call) {
    const folder files;
    files.put("one", "short");
    sweep_range(
        {call, EINTR}, outcome::invisible,
        [&] {
            run(uses_a_file(files));
            run(replaces_a_file(files));
        },
        call_range::only);
}

TEST(files, an_interrupted_call_is_made_again) {
    for (const char* const call : {"openat", "preadv2", "pwritev2", "pread", "pwrite", "fdatasync",
                                   "fsync", "ftruncate", "fchmod"}) {
        interrupt(call);
    }
}

TEST(files, what_moves_less_than_asked_for_goes_on) {
    for (const char* const call : {"preadv2", "pwritev2"}) {
        const folder files;
        const fault cut{call, 0, fault::how::cut};
        sweep_range(
            cut, outcome::invisible, [&] { run(uses_a_file(files)); }, call_range::only);
    }
    for (const char* const call : {"pread", "pwrite"}) {
        const folder files;
        files.put("one", "short");
        const fault cut{call, 0, fault::how::cut};
        sweep_range(
            cut, outcome::invisible, [&] { run(replaces_a_file(files)); }, call_range::only);
    }
}

// A file system may not know of reads and writes that do not wait, or may have to wait.
TEST(files, what_would_wait_goes_to_a_thread) {
    for (const char* const call : {"preadv2", "pwritev2"}) {
        for (const int error : {EAGAIN, EOPNOTSUPP, ENOSYS, EINVAL}) {
            sweep_file({call, error}, outcome::invisible);
        }
    }
    sweep_file({"fcntl", EBADF}, outcome::invisible);  // whether it goes past the page cache
}

TEST(files, an_error_of_a_file_is_reported) {
    for (const int error : {EACCES, EMFILE, ENFILE, ENOMEM, ELOOP, EROFS, ENOSPC}) {
        sweep_file({"openat", error}, outcome::reported);
    }
    sweep_file({"preadv2", EIO}, outcome::reported);
    for (const int error : {EIO, ENOSPC, EDQUOT, EFBIG}) {
        sweep_file({"pwritev2", error}, outcome::reported);
    }
    for (const int error : {EIO, ENOSPC, EDQUOT}) {
        sweep_file({"fdatasync", error}, outcome::reported);
        sweep_file({"fsync", error}, outcome::reported);
    }
    sweep_file({"fstat", EIO}, outcome::reported);
    sweep_file({"ftruncate", EIO}, outcome::reported);
    sweep_file({"posix_fadvise", EINVAL}, outcome::reported);
}

TEST(files, an_error_of_a_close_is_reported_and_the_file_is_closed) {
    for (const int error : {EIO, ENOSPC, EDQUOT}) {
        const folder files;
        files.put("one", "short");
        const fault failing{"close", error, fault::how::after};
        sweep(failing, outcome::reported, [&] {
            const auto closes = [&]() -> task<> {
                io::file one = must(co_await io::file::open(files.path_of("one")));
                const auto closed = co_await one.close();
                EXPECT_FALSE(one.is_open());
                must(closed);
            };
            run(closes());
        });
    }
}

TEST(files, an_error_of_a_replacement_is_reported_and_the_old_file_is_kept) {
    for (const int error : {EACCES, EMFILE, ENOSPC}) {
        sweep_replaced({"openat", error}, outcome::reported);
        sweep_replaced({"renameat", error}, outcome::reported);
    }
    sweep_replaced({"pread", EIO}, outcome::reported);
    for (const int error : {EIO, ENOSPC, EDQUOT}) {
        sweep_replaced({"pwrite", error}, outcome::reported);
        sweep_replaced({"fsync", error}, outcome::reported);
    }
    sweep_replaced({"fstat", EIO}, outcome::reported);
    sweep_replaced({"fstatat", EACCES}, outcome::reported);
    sweep_replaced({"fchmod", EPERM}, outcome::reported);
    sweep_replaced({"getrandom", ENOSYS}, outcome::reported);
}

// Nothing is lost but the file that was to take its place.
TEST(files, what_cannot_be_removed_stays_behind) {
    const folder files;
    const armed faults{{{"renameat", EACCES}, call_range::from(1)},
                       {{"unlinkat", EACCES}, call_range::from(1)}};
    files.put("one", "short");
    EXPECT_EQ(run(io::replace_file(files.path_of("one"), text)).error(),
              std::errc::permission_denied);
    EXPECT_EQ(faults.hits(), 2U);
    EXPECT_EQ(files.text_of("one"), "short");
    EXPECT_EQ(files.files(), 2U);
    testing::Test::RecordProperty("swept unlinkat", "1");
}

// A process that opens the new file before it has the permissions of the old one reads what is
// written later.
TEST(files, a_replacement_is_never_open_to_more_than_the_old_file) {
    const folder files;
    files.put("one", "secret");
    ASSERT_EQ(::chmod(files.path_of("one").c_str(), 0600), 0);
    {
        const armed faults{{{"fchmod", EPERM}, call_range::from(1)},
                           {{"unlinkat", EACCES}, call_range::from(1)}};
        EXPECT_EQ(run(io::replace_file(files.path_of("one"), text)).error(),
                  std::errc::operation_not_permitted);
        EXPECT_EQ(faults.hits(), 2U);
    }
    EXPECT_EQ(files.files(), 2U);
    for (const auto& each : std::filesystem::directory_iterator{files.path_of("")}) {
        struct stat known {};
        ASSERT_EQ(::stat(each.path().c_str(), &known), 0);
        EXPECT_EQ(known.st_mode & 0077U, 0U) << each.path();
    }
}

// The system forgets what a failed sync was to write, so a later one says nothing about it.
TEST(files, a_failed_sync_spoils_the_file) {
    const folder files;
    const auto fails = [&]() -> task<> {
        io::file one = must(co_await io::file::open(files.path_of("one"), to_write));
        must(co_await one.write_at(std::as_bytes(std::span{text}), 0));
        {
            const armed once{{"fdatasync", EIO}, call_range::only(1)};
            EXPECT_EQ((co_await one.sync()).error(), std::errc::io_error);
        }
        EXPECT_EQ((co_await one.sync()).error(), std::errc::io_error);
        EXPECT_EQ((co_await one.sync(io::sync_kind::all)).error(), std::errc::io_error);
        EXPECT_EQ((co_await one.write_at(std::as_bytes(std::span{text}), 0)).error(),
                  std::errc::io_error);
        io::file again = must(co_await io::file::open(files.path_of("one"), to_write));
        must(co_await again.sync());
    };
    run(fails());
}

// The system tells a failure to one of the syncs at the same time. All have lost their data.
TEST(files, a_failed_sync_fails_for_all_who_sync_meanwhile) {
    const folder files;
    io::file one = must(run(io::file::open(files.path_of("one"), to_write)));
    must(run(one.write_at(std::as_bytes(std::span{text}), 0)));
    scheduler home{{.workers = 2}};
    const armed once{{"fdatasync", EIO, fault::how::after}, call_range::only(1)};
    std::vector<join_handle<std::expected<void, std::error_code>>> all;
    for (int i = 0; i != 8; ++i) all.push_back(spawn(home, one.sync()));
    const std::unexpected lost{std::error_code{EIO, std::system_category()}};
    for (auto& each : all) EXPECT_TRUE(each.get() == lost);
}

// A file that cannot be synced at all is not spoilt by the attempt.
TEST(files, a_sync_that_the_file_does_not_know_spoils_nothing) {
    const folder files;
    const auto fails = [&]() -> task<> {
        io::file one = must(co_await io::file::open(files.path_of("one"), to_write));
        {
            const armed once{{"fdatasync", EINVAL}, call_range::only(1)};
            EXPECT_EQ((co_await one.sync()).error(), std::errc::invalid_argument);
        }
        must(co_await one.sync());
    };
    run(fails());
}

// What is in the page cache is read in the step; a call on a thread would be this one.
TEST(files, what_is_in_memory_is_read_within_the_step) {
    const folder files;
    files.put("one", text);
    const auto reads = [&]() -> task<> {
        io::file one = must(co_await io::file::open(files.path_of("one")));
        const armed faults{{"pread", EIO}, call_range::from(1)};
        std::string read(text.size(), '?');
        must(co_await one.read_at(std::as_writable_bytes(std::span{read}), 0));
        EXPECT_FALSE(faults.hit());
        EXPECT_EQ(read, text);
    };
    run(reads());
}

}  // namespace
}  // namespace fairlead::test::file_tests
