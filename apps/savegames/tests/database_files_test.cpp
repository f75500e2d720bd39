#include "savegames/database_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "savegames/tests/support.hpp"

namespace savegames::database_files_tests {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t block = 64 << 10;  // no file system has larger blocks

// The files of a database, which the test writes as SQLite would.
class database_files_test : public testing::Test {
protected:
    database_files_test() {
        append(database, 4 * block);
        append(log, 4 * block);
    }

    static void append(const std::string& path, std::uint64_t size) {
        std::ofstream{path, std::ios::app} << std::string(size, 'x');
    }

    std::unique_ptr<database_files> open() {
        auto files = database_files::claim(database);
        EXPECT_TRUE(files.has_value()) << files.error();
        EXPECT_TRUE((*files)->open_log(4 * block).has_value());
        return std::move(*files);
    }

    static std::string words(const database_files::intact& result) {
        return std::string{result ? "" : result.error()};
    }

    // One transaction, which calls `meanwhile` before it writes the log. Returns the error.
    template <class Meanwhile>
    std::string write(database_files& files, Meanwhile&& meanwhile, std::uint64_t size = block) {
        const std::uint64_t end = fs::file_size(log);
        if (auto intact = files.begin_write(); !intact) return words(intact);
        const fairlead::os::unique_fd file{::open(log.c_str(), O_WRONLY)};
        meanwhile();
        const std::string bytes(size, 'y');
        EXPECT_EQ(::pwrite(file.get(), bytes.data(), size, static_cast<off_t>(end)),
                  static_cast<ssize_t>(size));
        return words(files.end_write(end + size));
    }

    temporary_folder folder;
    const std::string database = folder / "saves.db";
    const std::string log = folder / "saves.db-wal";
    static constexpr auto nothing = [] {};
    static constexpr auto cut =
        "a part of the database or of its log was cut off: restart the service";
};

TEST_F(database_files_test, are_of_one_store) {
    auto files = open();
    const auto in_use = [&](const std::string& path) {
        return "another server uses the database " + path + "; stop it, or give another file";
    };
    EXPECT_EQ(database_files::claim(database).error(), in_use(database));
    fs::create_symlink(database, folder / "soft.db");
    EXPECT_EQ(database_files::claim(folder / "soft.db").error(), in_use(folder / "soft.db"));
    files.reset();
    fs::create_hard_link(database, folder / "hard.db");
    EXPECT_TRUE(database_files::claim(database).error().contains("2 hard links"));
    fs::remove(folder / "hard.db");
    open();
}

TEST_F(database_files_test, may_grow) {
    const auto files = open();
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(write(*files, nothing), "");
        append(database, block);
        files->note_size();
    }
    EXPECT_EQ(words(files->check()), "");
}

TEST_F(database_files_test, must_be_at_their_paths) {
    for (const std::string& each : {database, log}) {
        const auto files = open();
        const std::string away = folder / "away";
        fs::rename(each, away);
        EXPECT_TRUE(words(files->check()).ends_with("was deleted, moved or replaced"));
        EXPECT_TRUE(words(files->begin_write()).ends_with("was deleted, moved or replaced"));
        fs::copy_file(away, each);
        EXPECT_TRUE(words(files->check()).ends_with("was deleted, moved or replaced"));
        fs::rename(away, each);
        EXPECT_EQ(words(files->check()), "");
        fs::create_hard_link(each, away);
        EXPECT_TRUE(words(files->check()).ends_with("has a hard link"));
        fs::remove(away);
        EXPECT_EQ(write(*files, nothing), "");
        EXPECT_TRUE(write(*files, [&] {
                        fs::copy_file(each, away), fs::rename(away, each);
                    }).ends_with("was deleted, moved or replaced"));
    }
}

TEST_F(database_files_test, are_not_cut_between_transactions) {
    for (const std::string& each : {database, log}) {
        const auto files = open();
        EXPECT_EQ(write(*files, nothing), "");
        const std::uint64_t size = fs::file_size(each);
        fs::resize_file(each, size - 1);
        EXPECT_EQ(words(files->check()), cut);
        EXPECT_TRUE(files->is_cut());
        fs::resize_file(each, size);  // the bytes that were cut off stay lost
        EXPECT_EQ(words(files->begin_write()), cut);
    }
}

TEST_F(database_files_test, are_not_cut_between_the_commit_and_its_acknowledgement) {
    for (const std::string& each : {database, log}) {
        const auto files = open();
        ASSERT_TRUE(files->begin_write().has_value());
        append(log, block);
        fs::resize_file(each, block);
        EXPECT_EQ(words(files->end_write(5 * block)), cut);
    }
}

// After the cut SQLite writes where the log ended, so that the log has the right size again.
TEST_F(database_files_test, are_not_cut_within_a_transaction) {
    for (const std::uint64_t left : {0UZ, 1UZ, 2 * block, 3 * block}) {
        const auto files = open();
        const std::uint64_t size = fs::file_size(log);
        EXPECT_EQ(write(*files, [&] { fs::resize_file(log, left); }), cut) << left;
        EXPECT_EQ(fs::file_size(log), size + block);
        EXPECT_EQ(words(files->begin_write()), cut);
        fs::remove(log);
        append(log, 4 * block);
    }
}

TEST_F(database_files_test, let_the_log_begin_anew) {
    const auto files = open();
    ASSERT_TRUE(files->begin_write().has_value());
    fs::resize_file(log, 2 * block);  // SQLite leaves the log longer than what is in use
    EXPECT_EQ(words(files->end_write(block)), "");
    EXPECT_EQ(words(files->check()), "");
    fs::resize_file(log, block);  // only unused bytes are cut off
    EXPECT_EQ(words(files->check()), "");
    ASSERT_TRUE(files->begin_write().has_value());
    files->abandon_write();
    fs::resize_file(log, block - 1);
    EXPECT_EQ(words(files->check()), cut);
}

}  // namespace
}  // namespace savegames::database_files_tests
