#include "savegames/load/ledger.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace savegames::load::ledger_tests {
namespace {

constexpr std::size_t player = 3;

TEST(ledger, an_acknowledged_write_must_be_read) {
    ledger kept{10};
    const auto before_write = kept.begin(player);
    EXPECT_EQ(kept.wrote(player, before_write, 1, 0xaa), "");
    const auto before_read = kept.begin(player);
    EXPECT_EQ(kept.saw(player, before_read, 1, 0xaa), "");
    EXPECT_EQ(kept.saw(player, before_read, 2, 0xbb), "");  // a newer write, of another client
    EXPECT_NE(kept.saw(player, before_read, 1, 0xbb), "");
    EXPECT_NE(kept.absent(player, before_read), "");
}

TEST(ledger, a_read_that_began_before_a_write_may_show_the_version_before_it) {
    ledger kept{10};
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 1, 0xaa), "");
    const auto before = kept.begin(player);
    EXPECT_EQ(kept.wrote(player, before, 2, 0xbb), "");
    EXPECT_EQ(kept.saw(player, before, 1, 0xaa), "");
    EXPECT_NE(kept.saw(player, kept.begin(player), 1, 0xaa), "");
}

TEST(ledger, versions_rise_and_are_given_once) {
    ledger kept{10};
    const auto before = kept.begin(player);
    EXPECT_EQ(kept.wrote(player, before, 2, 0xaa), "");
    EXPECT_EQ(kept.wrote(player, before, 1, 0xbb), "");  // answers may come in another order
    EXPECT_NE(kept.wrote(player, before, 2, 0xcc), "");
    EXPECT_NE(kept.wrote(player, kept.begin(player), 2, 0xcc), "");
}

TEST(ledger, a_deleted_save_may_be_absent_and_must_not_come_back) {
    ledger kept{10};
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 1, 0xaa), "");
    const auto before_delete = kept.begin_delete(player);
    const auto during = kept.begin(player);
    EXPECT_EQ(kept.absent(player, during), "");
    EXPECT_EQ(kept.saw(player, during, 1, 0xaa), "");
    kept.deleted(player, before_delete);
    EXPECT_EQ(kept.absent(player, kept.begin(player)), "");
    EXPECT_NE(kept.saw(player, kept.begin(player), 1, 0xaa), "");
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 3, 0xbb), "");
    EXPECT_NE(kept.absent(player, kept.begin(player)), "");
}

TEST(ledger, a_write_during_a_delete_proves_nothing) {
    ledger kept{10};
    const auto before_delete = kept.begin_delete(player);
    const auto before_write = kept.begin(player);
    kept.deleted(player, before_delete);
    EXPECT_EQ(kept.wrote(player, before_write, 1, 0xaa), "");
    EXPECT_EQ(kept.absent(player, kept.begin(player)), "");
}

TEST(ledger, a_delete_of_unknown_outcome_may_take_effect_any_time) {
    ledger kept{10};
    static_cast<void>(kept.begin_delete(player));
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 1, 0xaa), "");
    EXPECT_EQ(kept.absent(player, kept.begin(player)), "");
}

TEST(ledger, a_delete_that_finds_nothing_is_wrong_where_a_save_must_be) {
    ledger kept{10};
    EXPECT_EQ(kept.delete_found_nothing(player, kept.begin_delete(player)), "");
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 1, 0xaa), "");
    EXPECT_NE(kept.delete_found_nothing(player, kept.begin_delete(player)), "");
    // After a refusal no delete is open.
    static_cast<void>(kept.begin_delete(player));
    kept.delete_refused(player);
    EXPECT_EQ(kept.wrote(player, kept.begin(player), 2, 0xbb), "");
    EXPECT_NE(kept.absent(player, kept.begin(player)), "");
}

class ledger_file : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path); }
    std::string path = testing::TempDir() + "ledger_" +
                       testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ledger_file, keeps_what_was_acknowledged) {
    ledger kept{10};
    EXPECT_EQ(kept.wrote(2, kept.begin(2), 7, 0xfedcba9876543210U), "");
    kept.deleted(4, kept.begin_delete(4));
    ASSERT_TRUE(kept.store(path).has_value());
    ledger again{10};
    ASSERT_TRUE(again.load(path).has_value());
    EXPECT_TRUE(again.knows(2));
    EXPECT_FALSE(again.knows(1));
    EXPECT_NE(again.saw(2, again.begin(2), 6, 0), "");
    EXPECT_NE(again.saw(2, again.begin(2), 7, 0), "");
    EXPECT_EQ(again.saw(2, again.begin(2), 7, 0xfedcba9876543210U), "");
    EXPECT_NE(again.absent(2, again.begin(2)), "");
    ledger smaller{2};
    EXPECT_FALSE(smaller.load(path).has_value());
}

TEST_F(ledger_file, absent_is_empty_and_others_are_refused) {
    ledger kept{10};
    EXPECT_TRUE(kept.load(path).has_value());
    std::ofstream{path} << "something else\n";
    EXPECT_FALSE(kept.load(path).has_value());
    std::ofstream{path} << "savegames-load ledger 1\n1 2 x\n";
    EXPECT_FALSE(kept.load(path).has_value());
}

}  // namespace
}  // namespace savegames::load::ledger_tests
