// The first words of what the server sends to a subscriber.
#pragma once

#include <fairlead/redis/value.hpp>

#include <string_view>

namespace fairlead::redis::detail {

// What the server calls its messages, and what it calls its confirmations.
[[nodiscard]] inline bool is_confirmation(std::string_view word) noexcept {
    return word == "subscribe" || word == "unsubscribe" || word == "psubscribe" ||
           word == "punsubscribe" || word == "ssubscribe" || word == "sunsubscribe";
}
[[nodiscard]] inline bool is_message(std::string_view word) noexcept {
    return word == "message" || word == "pmessage" || word == "smessage" || is_confirmation(word);
}
[[nodiscard]] inline std::string_view first_word(const value& message) noexcept {
    return message.items().empty() ? std::string_view{} : message.items().front().text();
}

}  // namespace fairlead::redis::detail
