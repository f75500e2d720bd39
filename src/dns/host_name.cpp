#include "dns/host_name.hpp"

#include <algorithm>
#include <cstddef>

namespace fairlead::dns::detail {
namespace {

constexpr std::size_t name_max = 253;
constexpr std::size_t label_max = 63;

// Not those of <cctype>, which depend on the locale.
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char small(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_name_character(char c) noexcept {
    return is_digit(c) || (small(c) >= 'a' && small(c) <= 'z') || c == '-' || c == '_';
}

}  // namespace

bool is_host_name(std::string_view text) noexcept {
    if (text.ends_with('.')) text.remove_suffix(1);
    if (text.empty() || text.size() > name_max) return false;
    std::string_view label;
    for (bool is_last = false; !is_last;) {
        const std::size_t dot = text.find('.');
        is_last = dot == std::string_view::npos;
        label = text.substr(0, dot);
        if (label.empty() || label.size() > label_max) return false;
        if (!std::ranges::all_of(label, is_name_character)) return false;
        if (!is_last) text.remove_prefix(dot + 1);
    }
    return !std::ranges::all_of(label, is_digit);
}

std::string normalized(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    std::string all{name};
    std::ranges::transform(all, all.begin(), small);
    return all;
}

bool is_localhost(std::string_view name) noexcept {
    return name == "localhost" || name.ends_with(".localhost");
}

std::vector<std::string> complete_names(std::string_view name,
                                        const std::vector<std::string>& search, unsigned ndots) {
    std::string as_it_is = normalized(name);
    if (name.ends_with('.')) return {std::move(as_it_is)};
    const auto dots = std::ranges::count(name, '.');
    const bool goes_first = dots >= static_cast<std::ptrdiff_t>(ndots);
    std::vector<std::string> all;
    if (goes_first) all.push_back(as_it_is);
    for (const std::string& domain : search) {
        std::string completed = as_it_is;
        completed.append(1, '.').append(domain);
        if (completed.size() <= name_max) all.push_back(std::move(completed));
    }
    if (!goes_first) all.push_back(std::move(as_it_is));
    return all;
}

}  // namespace fairlead::dns::detail
