#include "postgres/flowing.hpp"

#include "postgres/statement_kind.hpp"

#include <fairlead/postgres/copy.hpp>
#include <fairlead/postgres/stream.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::postgres {
namespace detail {
namespace {

// A copy has no parameters.
[[nodiscard]] std::optional<error> refusal_of(flow::kind what, const statement& sql) noexcept {
    const bool is_copy = what != flow::kind::rows;
    if (!sql.is_valid() || (is_copy && sql.parameters() != 0)) {
        return error{errc::invalid_parameter};
    }
    const statement_kind right = is_copy ? statement_kind::copy : statement_kind::plain;
    if (kind_of(sql.sql()) != right) return error{errc::not_shared};
    return {};
}

// The simple protocol, by which a copy goes, has several statements in one text, and the one behind
// may change the connection. A semicolon inside of a literal is taken for one, too.
[[nodiscard]] bool may_be_several(std::string_view sql) noexcept {
    const std::size_t last = sql.find_last_not_of("; \t\r\n");
    return sql.substr(0, last == sql.npos ? 0 : last + 1).contains(';');
}

}  // namespace

flowing::flowing(std::shared_ptr<lease> of, flow::kind what, statement sql)
    : of_{std::move(of)},
      flow_{std::make_shared<flow>(what, of_->at(), of_->pool().options().stream_bytes)},
      asked_{of_->pool(), alone(std::move(sql.unprepared())), of_->at(), flow_} {}

result<std::unique_ptr<flowing>> flowing::begin(std::shared_ptr<lease> of, flow::kind what,
                                                statement sql) {
    std::optional<error> refused = refusal_of(what, sql);
    if (refused) return std::unexpected{std::move(*refused)};
    if (what != flow::kind::rows && may_be_several(sql.sql())) of->make_unclean();
    auto made = std::make_unique<flowing>(of, what, std::move(sql));
    of->pool().enqueue(made->asked_);
    refused = made->flow_->failure();
    if (refused && !refused->was_sent()) return std::unexpected{std::move(*refused)};
    return made;
}

task<result<std::unique_ptr<flowing>>> flowing::begin_alone(std::shared_ptr<pool_state> of,
                                                            flow::kind what, statement sql,
                                                            time_point deadline) {
    std::optional<error> refused = refusal_of(what, sql);
    if (refused) co_return std::unexpected{std::move(*refused)};
    for (;;) {
        auto own = co_await lease::take(of, deadline);
        if (!own) co_return std::unexpected{std::move(own.error())};
        auto made = begin(std::move(*own), what, sql);
        // A connection that has just ended: nothing was done.
        if (made || made.error().code() != errc::connection_lost) co_return made;
    }
}

}  // namespace detail

// --- streams -------------------------------------------------------------------------------------

row_stream::row_stream(std::unique_ptr<detail::flowing> of) noexcept : of_{std::move(of)} {}
row_stream::row_stream(row_stream&& other) noexcept = default;
row_stream& row_stream::operator=(row_stream&& other) noexcept = default;
row_stream::~row_stream() = default;

task<result<rows>> row_stream::next(time_point deadline) {
    detail::flow& with = of_->with();
    auto came = co_await with.take(deadline);
    if (!came) co_return std::unexpected{std::move(came.error())};
    if (!*came) co_return with.last();
    co_return std::move((*came)->some);
}

std::size_t row_stream::buffered() const noexcept { return of_->with().buffered(); }

// --- copies --------------------------------------------------------------------------------------

copy_reader::copy_reader(std::unique_ptr<detail::flowing> of) noexcept : of_{std::move(of)} {}
copy_reader::copy_reader(copy_reader&& other) noexcept = default;
copy_reader& copy_reader::operator=(copy_reader&& other) noexcept = default;
copy_reader::~copy_reader() = default;

task<result<std::string>> copy_reader::read(time_point deadline) {
    auto came = co_await of_->with().take(deadline);
    if (!came) co_return std::unexpected{std::move(came.error())};
    if (!*came) co_return std::string{};
    co_return std::move((*came)->bytes);
}

std::uint64_t copy_reader::affected() const { return of_->with().last().affected(); }

std::size_t copy_reader::buffered() const noexcept { return of_->with().buffered(); }

copy_writer::copy_writer(std::unique_ptr<detail::flowing> of) noexcept : of_{std::move(of)} {}
copy_writer::copy_writer(copy_writer&& other) noexcept = default;
copy_writer& copy_writer::operator=(copy_writer&& other) noexcept = default;
copy_writer::~copy_writer() = default;

task<result<void>> copy_writer::write(std::string_view bytes, time_point deadline) {
    return of_->with().put(bytes, deadline);
}

task<result<std::uint64_t>> copy_writer::finish(time_point deadline) {
    detail::flow& with = of_->with();
    result<void> done = co_await with.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return with.last().affected();
}

std::size_t copy_writer::buffered() const noexcept { return of_->with().buffered(); }

// --- the text format -----------------------------------------------------------------------------

void detail::append_copy_value(std::string& into, const parameter& value) {
    if (value.is_null()) {
        into += "\\N\t";
        return;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    if (value.is_binary()) into += "\\\\x";
    for (const char each : value.bytes()) {
        const auto byte = static_cast<unsigned char>(each);
        if (value.is_binary()) {
            into += digits[byte >> 4];
            into += digits[byte & 15];
        } else if (each == '\n') {
            into += "\\n";
        } else if (each == '\r') {
            into += "\\r";
        } else if (each == '\t') {
            into += "\\t";
        } else {
            if (each == '\\') into += '\\';
            into += each;
        }
    }
    into += '\t';
}

}  // namespace fairlead::postgres
