#include <fairlead/redis/commands.hpp>

#include <chrono>
#include <utility>

namespace fairlead::redis {
namespace {

[[nodiscard]] std::int64_t milliseconds_of(duration span) noexcept {
    return std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

[[nodiscard]] std::unexpected<error> wrong_type() {
    return std::unexpected{error{errc::wrong_type_of_reply, true}};
}

[[nodiscard]] result<std::int64_t> as_integer(const result<value>& reply) {
    if (!reply) return std::unexpected{reply.error()};
    if (reply->type() != kind::integer) return wrong_type();
    return reply->integer();
}

[[nodiscard]] result<bool> as_bool(const result<value>& reply) {
    const auto number = as_integer(reply);
    if (!number) return std::unexpected{number.error()};
    return *number != 0;
}

const script& deletes_if_equal() {
    static const script only{
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
        "return 0"};
    return only;
}

const script& expires_if_equal() {
    static const script only{
        "if redis.call('GET', KEYS[1]) == ARGV[1] then "
        "return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"};
    return only;
}

}  // namespace

task<result<std::optional<std::string>>> commands::get(std::string key, time_point deadline) {
    command what{"GET", key};
    result<value> reply = co_await send(std::move(what), deadline);
    if (!reply) co_return std::unexpected{std::move(reply.error())};
    if (reply->is_null()) co_return std::optional<std::string>{};
    if (reply->type() != kind::bulk_string) co_return wrong_type();
    co_return std::optional{std::move(*reply).take_text()};
}

task<result<bool>> commands::set(std::string key, std::string content, set_options options,
                                 time_point deadline) {
    command what{"SET", key, content};
    if (options.when == set_when::absent) what.add("NX");
    if (options.when == set_when::present) what.add("XX");
    if (options.expires > duration::zero()) what.add("PX").add(milliseconds_of(options.expires));
    if (options.keep_expiry) what.add("KEEPTTL");
    result<value> reply = co_await send(std::move(what), deadline);
    if (!reply) co_return std::unexpected{std::move(reply.error())};
    co_return !reply->is_null();
}

task<result<bool>> commands::del(std::string key, time_point deadline) {
    command what{"DEL", key};
    co_return as_bool(co_await send(std::move(what), deadline));
}

task<result<std::int64_t>> commands::incr(std::string key, std::int64_t by, time_point deadline) {
    command what{"INCRBY", key, by};
    co_return as_integer(co_await send(std::move(what), deadline));
}

task<result<bool>> commands::expire(std::string key, duration in, time_point deadline) {
    command what{"PEXPIRE", key, milliseconds_of(in)};
    co_return as_bool(co_await send(std::move(what), deadline));
}

task<result<value>> commands::eval(const script& what, std::vector<std::string> keys,
                                   std::vector<std::string> arguments, time_point deadline) {
    const auto call = [&](std::string_view verb, std::string_view body) {
        command made{verb, body, keys.size()};
        for (const std::string& key : keys) made.add(key);
        for (const std::string& each : arguments) made.add(each);
        return made;
    };
    result<value> reply = co_await send(call("EVALSHA", what.sha()), deadline);
    const bool is_unknown = !reply && reply.error().code() == errc::no_script;
    if (!is_unknown) co_return reply;
    co_return co_await send(call("EVAL", what.text()), deadline);
}

task<result<bool>> commands::compare_and_delete(std::string key, std::string content,
                                                time_point deadline) {
    std::vector<std::string> keys{std::move(key)};
    std::vector<std::string> arguments{std::move(content)};
    co_return as_bool(
        co_await eval(deletes_if_equal(), std::move(keys), std::move(arguments), deadline));
}

task<result<bool>> commands::compare_and_expire(std::string key, std::string content, duration in,
                                                time_point deadline) {
    std::vector<std::string> keys{std::move(key)};
    std::vector<std::string> arguments{std::move(content), std::to_string(milliseconds_of(in))};
    co_return as_bool(
        co_await eval(expires_if_equal(), std::move(keys), std::move(arguments), deadline));
}

}  // namespace fairlead::redis
