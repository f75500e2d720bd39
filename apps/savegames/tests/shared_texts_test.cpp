#include "savegames/shared_texts.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "savegames/tests/support.hpp"

namespace savegames::shared_texts_tests {
namespace {

const profile_key anna = key_of("anna");
const save first{.version = 1, .checksum = 11, .size = 5, .data = {}};
const save second{.version = 2, .checksum = 22, .size = 6, .data = {}};

TEST(shared_texts, are_found_while_they_are_sent) {
    shared_texts texts;
    EXPECT_EQ(texts.find(anna, first), nullptr);
    shared_text text = texts.add(anna, first, "first", {});
    EXPECT_EQ(*text, "first");
    EXPECT_EQ(texts.find(anna, first), text);
    EXPECT_EQ(texts.find(key_of("bert"), first), nullptr);
    EXPECT_EQ(texts.find(anna, second), nullptr);
    text.reset();
    EXPECT_EQ(texts.find(anna, first), nullptr);
    EXPECT_EQ(texts.size(), 0U);
}

TEST(shared_texts, a_second_copy_is_dropped_with_its_payment) {
    shared_texts texts;
    const shared_text text = texts.add(anna, first, "first", {});
    auto payment = std::make_shared<int>();
    const std::weak_ptr<int> paid = payment;
    EXPECT_EQ(texts.add(anna, first, "first", std::move(payment)), text);
    EXPECT_TRUE(paid.expired());
    EXPECT_EQ(texts.find(anna, first), text);
}

TEST(shared_texts, a_newer_version_takes_the_place) {
    shared_texts texts;
    auto payment = std::make_shared<int>();
    const std::weak_ptr<int> paid = payment;
    shared_text old = texts.add(anna, first, "first", std::move(payment));
    const shared_text fresh = texts.add(anna, second, "second", {});
    EXPECT_EQ(texts.find(anna, first), nullptr);
    EXPECT_EQ(texts.find(anna, second), fresh);
    EXPECT_EQ(*old, "first");
    EXPECT_FALSE(paid.expired());
    old.reset();
    EXPECT_TRUE(paid.expired());
    EXPECT_EQ(texts.find(anna, second), fresh);
    EXPECT_EQ(texts.size(), 1U);
}

}  // namespace
}  // namespace savegames::shared_texts_tests
