#include <fairlead/redis/parser.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace fairlead::redis {
namespace {

// Room for the items of an aggregate before they come: announced is not sent.
constexpr std::size_t reserved_max = 16;

template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& into) noexcept {
    if (text.starts_with('+')) {
        text.remove_prefix(1);
        if (text.starts_with('-')) return false;
    }
    const char* const end = text.data() + text.size();
    const auto [stopped, failure] = std::from_chars(text.data(), end, into);
    return failure == std::errc{} && stopped == end && !text.empty();
}

// from_chars would also take "infinity" and "nan(...)".
[[nodiscard]] bool read_real(std::string_view text, double& into) noexcept {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text == "inf" || text == "+inf") {
        into = infinity;
    } else if (text == "-inf") {
        into = -infinity;
    } else if (text == "nan" || text == "-nan") {
        into = std::numeric_limits<double>::quiet_NaN();
    } else {
        const bool has_digit =
            std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; });
        return has_digit && text.find('n') == std::string_view::npos && read_number(text, into);
    }
    return true;
}

[[nodiscard]] bool is_big_number(std::string_view text) noexcept {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool operator==(const value& left, const value& right) noexcept {
    if (left.kind_ != right.kind_ || left.attributes() != right.attributes()) return false;
    if (left.kind_ == kind::double_) {
        return left.real() == right.real() || (std::isnan(left.real()) && std::isnan(right.real()));
    }
    return left.data_ == right.data_;
}

std::span<std::byte> parser::room(std::size_t size) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (buffer_.size() - end_ < size && begin_ != 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    if (buffer_.size() - end_ < size) buffer_.resize(end_ + size);
    return std::as_writable_bytes(std::span{buffer_.data() + end_, size});
}

void parser::feed(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto into = room(bytes.size());
    std::memcpy(into.data(), bytes.data(), bytes.size());
    filled(bytes.size());
}

std::expected<std::optional<value>, std::error_code> parser::next() {
    if (failure_) return std::unexpected{failure_};
    for (;;) {
        const step taken = bulk_ ? take_bulk() : take_line();
        if (taken != step::failed && reply_size_ > limits_.reply_max) {
            static_cast<void>(fail(errc::too_large));
        }
        if (failure_) return std::unexpected{failure_};
        if (taken == step::needs_more) return std::nullopt;
        if (taken == step::complete) {
            reply_size_ = 0;
            return std::optional{std::exchange(whole_, {})};
        }
    }
}

parser::step parser::take_line() {
    const std::string_view seen{buffer_.data() + begin_, end_ - begin_};
    const std::size_t end = seen.find('\n', scanned_);
    const std::size_t size = end == std::string_view::npos ? seen.size() : end;
    if (size > limits_.line_max) return fail(errc::too_large);
    if (end == std::string_view::npos) {
        scanned_ = seen.size();
        return step::needs_more;
    }
    scanned_ = 0;
    if (end < 2 || seen[end - 1] != '\r') return fail(errc::protocol);
    consume(end + 1);
    return parse_line(seen[0], seen.substr(1, end - 2));
}

// A string grows with what has come, not with the length that it was announced with.
parser::step parser::take_bulk() {
    const std::size_t taken = std::min(bulk_left_, end_ - begin_);
    bulk_text_.append(buffer_.data() + begin_, taken);
    consume(taken);
    bulk_left_ -= taken;
    if (bulk_left_ != 0 || end_ - begin_ < 2) return step::needs_more;
    if (buffer_[begin_] != '\r' || buffer_[begin_ + 1] != '\n') return fail(errc::protocol);
    consume(2);
    const kind of = *std::exchange(bulk_, std::nullopt);
    if (of == kind::verbatim && (bulk_text_.size() < 4 || bulk_text_[3] != ':')) {
        return fail(errc::protocol);
    }
    return give(value{of, std::exchange(bulk_text_, {})});
}

parser::step parser::parse_line(char type, std::string_view rest) {
    switch (type) {
        case '+':
            return give(value{kind::simple_string, std::string{rest}});
        case '-':
            return give(value{kind::error, std::string{rest}});
        case ':': {
            std::int64_t number = 0;
            return read_number(rest, number) ? give(value{number}) : fail(errc::protocol);
        }
        case ',': {
            double number = 0;
            return read_real(rest, number) ? give(value{number}) : fail(errc::protocol);
        }
        case '(':
            if (!is_big_number(rest)) return fail(errc::protocol);
            return give(value{kind::big_number, std::string{rest}});
        case '#':
            if (rest != "t" && rest != "f") return fail(errc::protocol);
            return give(value{rest == "t"});
        case '_':
            return rest.empty() ? give(value{}) : fail(errc::protocol);
        case '$':
            return begin_bulk(kind::bulk_string, rest);
        case '!':
            return begin_bulk(kind::error, rest);
        case '=':
            return begin_bulk(kind::verbatim, rest);
        case '*':
            return begin_aggregate(kind::array, false, rest);
        case '~':
            return begin_aggregate(kind::set, false, rest);
        case '%':
            return begin_aggregate(kind::map, false, rest);
        case '>':
            return begin_aggregate(kind::push, false, rest);
        case '|':
            return begin_aggregate(kind::map, true, rest);
        default:
            return fail(errc::protocol);
    }
}

parser::step parser::begin_bulk(kind of, std::string_view rest) {
    if (of == kind::bulk_string && rest == "-1") return give(value{});
    std::uint64_t size = 0;
    if (!read_number(rest, size)) return fail(errc::protocol);
    if (size > limits_.bulk_max) return fail(errc::too_large);
    bulk_ = of;
    bulk_left_ = size;
    bulk_text_.clear();
    return step::goes_on;
}

parser::step parser::begin_aggregate(kind of, bool is_attribute, std::string_view rest) {
    if (of == kind::array && rest == "-1") return give(value{});
    std::uint64_t count = 0;
    if (!read_number(rest, count)) return fail(errc::protocol);
    if (of == kind::push && (!open_.empty() || count == 0)) return fail(errc::protocol);
    const std::uint64_t limit = of == kind::map ? limits_.items_max / 2 : limits_.items_max;
    if (count > limit || open_.size() == limits_.depth_max) return fail(errc::too_large);
    const std::size_t items = of == kind::map ? count * 2 : count;
    aggregate begun{of, is_attribute, items, {}, {}};
    begun.attributes = std::exchange(attributes_, {});
    if (items != 0) {
        begun.items.reserve(std::min(items, reserved_max));
        open_.push_back(std::move(begun));
        return step::goes_on;
    }
    attributes_ = std::move(begun.attributes);
    return is_attribute ? step::goes_on : give(value{of, std::vector<value>{}});
}

// A value is complete; so perhaps is the aggregate that it ends, and so on.
parser::step parser::give(value made) {
    if (!attributes_.empty()) made.set_attributes(std::exchange(attributes_, {}));
    while (!open_.empty()) {
        aggregate& innermost = open_.back();
        innermost.items.push_back(std::move(made));
        if (--innermost.left != 0) return step::goes_on;
        aggregate ended = std::move(innermost);
        open_.pop_back();
        if (ended.is_attribute) {
            // Attributes before attributes: all belong to the value that follows.
            attributes_ = std::move(ended.attributes);
            std::ranges::move(ended.items, std::back_inserter(attributes_));
            return step::goes_on;
        }
        made = value{ended.of, std::move(ended.items)};
        made.set_attributes(std::move(ended.attributes));
    }
    whole_ = std::move(made);
    return step::complete;
}

}  // namespace fairlead::redis
