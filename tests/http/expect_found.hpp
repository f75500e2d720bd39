// What a message must give, in every split.
#pragma once

#include "http/messages.hpp"

#include <gtest/gtest.h>

namespace fairlead::http {

template <class Parser>
outcome found(std::string_view text, const limits& limits = {}) {
    return found_in<Parser>(
        text,
        [text](bool same, const std::string& how) { EXPECT_TRUE(same) << how << " of:\n"
                                                                      << text; },
        limits);
}

inline outcome requests(std::string_view text, const limits& limits = {}) {
    return found<request_parser>(text, limits);
}
inline outcome responses(std::string_view text, const limits& limits = {}) {
    return found<response_parser>(text, limits);
}

// The one request that `text` is.
inline seen one_request(std::string_view text, const limits& limits = {}) {
    const outcome all = requests(text, limits);
    EXPECT_EQ(all.error, errc::none) << make_error_code(all.error).message() << "\n" << text;
    EXPECT_EQ(all.messages.size(), 1U) << text;
    EXPECT_TRUE(all.between) << text;
    return all.messages.empty() ? seen{} : all.messages.front();
}

inline seen one_response(std::string_view text, const limits& limits = {}) {
    const outcome all = responses(text, limits);
    EXPECT_EQ(all.error, errc::none) << make_error_code(all.error).message() << "\n" << text;
    EXPECT_EQ(all.messages.size(), 1U) << text;
    EXPECT_TRUE(all.between) << text;
    return all.messages.empty() ? seen{} : all.messages.front();
}

}  // namespace fairlead::http
