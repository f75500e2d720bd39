#include "savegames/model.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>

namespace savegames {

std::string_view to_string(error code) noexcept {
    switch (code) {
        case error::bad_request:
            return "bad_request";
        case error::not_found:
            return "not_found";
        case error::too_large:
            return "too_large";
        case error::locked:
            return "locked";
        case error::conflict:
            return "conflict";
        case error::lease_lost:
            return "lease_lost";
        case error::overloaded:
            return "overloaded";
        case error::over_share:
            return "over_share";
        case error::store_failed:
            return "store_failed";
        case error::corrupt:
            return "corrupt";
        case error::deadline:
            return "deadline";
    }
    return "unknown";
}

int http_status(error code) noexcept {
    switch (code) {
        case error::bad_request:
            return 400;
        case error::not_found:
            return 404;
        case error::too_large:
            return 413;
        case error::locked:
        case error::conflict:
        case error::lease_lost:
            return 409;
        case error::overloaded:
        case error::store_failed:
            return 503;
        case error::over_share:
            return 429;
        case error::corrupt:
            return 500;
        case error::deadline:
            return 504;
    }
    return 500;
}

std::string id_problem(std::string_view text) {
    if (text.empty()) return "an id must not be empty";
    if (text.size() > id_size_max) {
        return fmt::format("an id has at most {} bytes, this one has {}", id_size_max, text.size());
    }
    if (text == "." || text == "..") return "an id must not be \".\" or \"..\"";
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    const auto bad = std::ranges::find_if_not(text, allowed);
    if (bad == text.end()) return {};
    return fmt::format("an id has only letters, digits, '.', '_' and '-': byte {} is 0x{:02x}",
                       bad - text.begin(), static_cast<unsigned char>(*bad));
}

owner_token new_owner_token() {
    thread_local std::mt19937_64 random = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device()};
        return std::mt19937_64{seed};
    }();
    return static_cast<owner_token>(random());
}

}  // namespace savegames
