#include <fairlead/http/head.hpp>

#include "http/grammar.hpp"

namespace fairlead::http {
namespace {

std::string_view path_and_query(std::string_view target) noexcept {
    if (target.starts_with('/') || target == "*") return target;
    return grammar::split_absolute(target).rest;
}

}  // namespace

std::string_view request_head::path() const noexcept {
    const std::string_view whole = path_and_query(target);
    const std::string_view path = whole.substr(0, whole.find('?'));
    return path.empty() ? std::string_view{"/"} : path;
}

std::string_view request_head::query() const noexcept {
    const std::string_view whole = path_and_query(target);
    const std::size_t mark = whole.find('?');
    return mark == whole.npos ? std::string_view{} : whole.substr(mark + 1);
}

}  // namespace fairlead::http
