// Whole files: read at once, or replaced.
#include "support/folder.hpp"
#include "support/tasks.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/whole_file.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <expected>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::io::whole_file_tests {
namespace {

using test::simulation;

class whole_file_test : public testing::Test {
protected:
    template <class T>
    T run(task<T> body) {
        return sim.run(std::move(body));
    }
    auto read(std::string_view name, std::size_t limit) {
        return run(read_file(files.path_of(name), limit));
    }
    auto replace(std::string_view name, std::string data) {
        return run(replace_file(files.path_of(name), std::move(data)));
    }

    test::folder files;
    simulation sim;
};

TEST_F(whole_file_test, is_read_up_to_the_limit) {
    const std::string text(100'000, 'x');
    files.put("one", text);
    EXPECT_EQ(read("one", 100'000), text);
    EXPECT_EQ(read("one", 1'000'000), text);
    EXPECT_EQ(read("one", 99'999).error(), std::errc::file_too_large);
    EXPECT_EQ(read("one", 0).error(), std::errc::file_too_large);
}

TEST_F(whole_file_test, an_empty_one_is_read) {
    files.put("one", "");
    EXPECT_EQ(read("one", 0), "");
}

// The system says of it that it has no bytes.
TEST_F(whole_file_test, one_of_unknown_size_is_read) {
    const auto text = run(read_file("/proc/self/smaps", 100'000'000));
    ASSERT_TRUE(text);
    EXPECT_GT(text->size(), 5'000U);
    EXPECT_TRUE(text->contains("VmFlags:"));
    EXPECT_EQ(run(read_file("/proc/self/smaps", 5'000)).error(), std::errc::file_too_large);
}

TEST_F(whole_file_test, tells_why_it_is_not_read) {
    EXPECT_EQ(read("none", 10).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(read(".", 10).error(), std::errc::is_a_directory);
}

TEST_F(whole_file_test, is_replaced_and_nothing_else_is_left) {
    EXPECT_TRUE(replace("one", "first"));
    EXPECT_EQ(files.text_of("one"), "first");
    EXPECT_TRUE(replace("one", ""));
    EXPECT_EQ(files.text_of("one"), "");
    EXPECT_EQ(files.files(), 1U);
}

TEST_F(whole_file_test, keeps_its_permissions_and_a_new_one_gets_the_usual_ones) {
    const auto permissions = [&] {
        struct stat known {};
        EXPECT_EQ(::stat(files.path_of("one").c_str(), &known), 0);
        return known.st_mode & 07777U;
    };
    const ::mode_t before = ::umask(027);
    EXPECT_TRUE(replace("one", "first"));
    ::umask(before);
    EXPECT_EQ(permissions(), 0640U);
    ASSERT_EQ(::chmod(files.path_of("one").c_str(), 0600), 0);
    EXPECT_TRUE(replace("one", "second"));
    EXPECT_EQ(permissions(), 0600U);
}

// A program that has opened the old file reads on in it.
TEST_F(whole_file_test, the_old_one_is_not_changed) {
    files.put("one", "first");
    std::filesystem::create_hard_link(files.path_of("one"), files.path_of("old"));
    EXPECT_TRUE(replace("one", "second"));
    EXPECT_EQ(files.text_of("old"), "first");
    EXPECT_EQ(files.text_of("one"), "second");
}

// Two programs may share a folder: the rights of another owner are not for this file.
TEST_F(whole_file_test, does_not_keep_the_right_to_act_as_its_owner) {
    files.put("one", "first");
    ASSERT_EQ(::chmod(files.path_of("one").c_str(), 04750), 0);
    EXPECT_TRUE(replace("one", "second"));
    struct stat known {};
    ASSERT_EQ(::stat(files.path_of("one").c_str(), &known), 0);
    EXPECT_EQ(known.st_mode & 07777U, 0750U);
}

TEST_F(whole_file_test, may_have_the_longest_name) {
    const std::string name(255, 'n');
    EXPECT_TRUE(replace(name, "first"));
    EXPECT_TRUE(replace(name, "second"));
    EXPECT_EQ(files.text_of(name), "second");
    EXPECT_EQ(replace(name + 'n', "x").error(), std::errc::filename_too_long);
    EXPECT_EQ(files.files(), 1U);
}

TEST_F(whole_file_test, may_have_a_relative_path) {
    const auto path = std::filesystem::relative(files.path_of("one"));
    EXPECT_TRUE(run(replace_file(path, "first")));
    EXPECT_EQ(files.text_of("one"), "first");
    const std::string name = std::filesystem::path{files.path_of("")}.parent_path().filename();
    EXPECT_TRUE(run(replace_file(name + ".bare", "second")));
    EXPECT_EQ(run(read_file(name + ".bare", 10)), "second");
    EXPECT_TRUE(std::filesystem::remove(name + ".bare"));
}

TEST_F(whole_file_test, a_link_is_replaced_by_a_file) {
    files.put("one", "first");
    std::filesystem::create_symlink(files.path_of("one"), files.path_of("link"));
    EXPECT_TRUE(replace("link", "second"));
    EXPECT_EQ(files.text_of("one"), "first");
    EXPECT_EQ(files.text_of("link"), "second");
}

TEST_F(whole_file_test, tells_why_it_is_not_replaced) {
    EXPECT_EQ(replace("none/one", "x").error(), std::errc::no_such_file_or_directory);
    std::filesystem::create_directory(files.path_of("folder"));
    EXPECT_EQ(replace("folder", "x").error(), std::errc::is_a_directory);
    EXPECT_EQ(replace("folder/", "x").error(), std::errc::is_a_directory);
    EXPECT_EQ(replace("none/", "x").error(), std::errc::is_a_directory);
    EXPECT_EQ(run(replace_file("", "x")).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(replace(std::string_view{"nu\0ll", 5}, "x").error(), std::errc::invalid_argument);
    EXPECT_EQ(files.files(), 1U);
}

}  // namespace
}  // namespace fairlead::io::whole_file_tests
