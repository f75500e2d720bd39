#include <fairlead/http/fields.hpp>

#include "http/grammar.hpp"

#include <cstring>
#include <stdexcept>

namespace fairlead::http {
namespace {

constexpr char lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

void require_sendable(std::string_view name, std::string_view value) {
    if (!field_list::is_name(name)) {
        throw std::invalid_argument{"fairlead::http: the name of a field must be a token"};
    }
    if (!field_list::is_value(value)) {
        throw std::invalid_argument{
            "fairlead::http: the value of a field must have no control character, and no space at "
            "its ends"};
    }
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t at = 0; at != a.size(); ++at) {
        if (lower(a[at]) != lower(b[at])) return false;
    }
    return true;
}

void fields::iterator::next() noexcept {
    if (rest_.empty()) {
        now_ = {};
        return;
    }
    const std::size_t end = rest_.find('\n');  // of a line that ends with CRLF
    const std::string_view line = rest_.substr(0, end - 1);
    const std::size_t colon = line.find(':');
    now_ = {line.substr(0, colon), grammar::trimmed(line.substr(colon + 1))};
    rest_.remove_prefix(end + 1);
}

std::optional<std::string_view> fields::find(std::string_view name) const noexcept {
    for (const field& each : *this) {
        if (same_name(each.name, name)) return each.value;
    }
    return std::nullopt;
}

std::size_t fields::count(std::string_view name) const noexcept {
    std::size_t found = 0;
    for (const field& each : *this) found += same_name(each.name, name) ? 1 : 0;
    return found;
}

bool field_list::is_name(std::string_view name) noexcept { return grammar::is_token(name); }

bool field_list::is_value(std::string_view value) noexcept {
    return grammar::is_value_text(value) && grammar::trimmed(value).size() == value.size();
}

field_list& field_list::add(std::string_view name, std::string_view value) {
    require_sendable(name, value);
    const std::size_t before = lines_.size();
    const std::size_t after = before + name.size() + value.size() + 4;
    // GCC 12 gives the capacity as the second argument.
    const auto print = [=](char* to, std::size_t /*size*/) noexcept {
        name.copy(to + before, name.size());
        std::memcpy(to + before + name.size(), ": ", 2);
        value.copy(to + after - 2 - value.size(), value.size());
        std::memcpy(to + after - 2, "\r\n", 2);
        return after;
    };
    lines_.resize_and_overwrite(after, print);
    return *this;
}

field_list& field_list::set(std::string_view name, std::string_view value) {
    require_sendable(name, value);
    remove(name);
    return add(name, value);
}

std::size_t field_list::remove(std::string_view name) noexcept {
    std::size_t removed = 0;
    for (std::size_t at = 0; at != lines_.size();) {
        const std::size_t end = lines_.find('\n', at) + 1;
        const std::string_view line = std::string_view{lines_}.substr(at, end - at);
        if (same_name(line.substr(0, line.find(':')), name)) {
            lines_.erase(at, end - at);
            ++removed;
        } else {
            at = end;
        }
    }
    return removed;
}

}  // namespace fairlead::http
