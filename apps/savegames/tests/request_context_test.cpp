// What a client says about a request: its timeout and its trace.
#include "savegames/request_context.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace savegames::request_context_tests {
namespace {

using namespace std::chrono_literals;
using fairlead::trace;
using fairlead::trace_source;

const std::string caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

// The fields of a request; those with an empty value are left out.
class head_with {
public:
    head_with(const std::string& timeout, const std::string& traceparent) {
        if (!timeout.empty()) add("x-request-timeout", timeout);
        if (!traceparent.empty()) add("TraceParent", traceparent);
    }
    head_with& add(const std::string& name, const std::string& value) {
        lines_ += name + ": " + value + "\r\n";
        return *this;
    }
    operator fairlead::http::fields() const { return fairlead::http::fields{lines_}; }

private:
    std::string lines_;
};

TEST(RequestContext, TakesTheSmallerTimeout) {
    trace_source spans{1};
    EXPECT_EQ(context_of(head_with("", ""), 5s, spans)->timeout, 5s);
    EXPECT_EQ(context_of(head_with("250", ""), 5s, spans)->timeout, 250ms);
    EXPECT_EQ(context_of(head_with("9000", ""), 5s, spans)->timeout, 5s);
    EXPECT_EQ(context_of(head_with("0", ""), 5s, spans)->timeout, 0ms);
    EXPECT_EQ(context_of(head_with("3600000", ""), 2h, spans)->timeout, 1h);
}

TEST(RequestContext, RefusesAWrongTimeout) {
    trace_source spans{1};
    for (const char* wrong : {"x", "-1", "+1", "1 1", "1, 2", "3600001", "0x10"}) {
        const auto refused = context_of(head_with(wrong, ""), 5s, spans);
        ASSERT_FALSE(refused.has_value()) << wrong;
        EXPECT_EQ(refused.error().status, 400) << wrong;
    }
    EXPECT_FALSE(context_of(head_with("5", "").add("X-Request-Timeout", "5"), 5s, spans));
}

TEST(RequestContext, GoesOnWithTheTraceOfTheCaller) {
    trace_source spans{1};
    const auto made = context_of(head_with("", caller), 5s, spans);
    EXPECT_EQ(made->span.trace_id, trace::parse(caller)->trace_id);
    EXPECT_NE(made->span.span_id, trace::parse(caller)->span_id);
}

TEST(RequestContext, BeginsATraceWithoutOneOfTheCaller) {
    trace_source spans{1};
    const auto none = context_of(head_with("", ""), 5s, spans);
    const auto malformed = context_of(head_with("", caller + "x"), 5s, spans);
    EXPECT_TRUE(trace::parse(none->span.to_string()).has_value());
    EXPECT_NE(none->span.trace_id, malformed->span.trace_id);
    const auto two = context_of(head_with("", caller).add("traceparent", caller), 5s, spans);
    EXPECT_NE(two->span.trace_id, trace::parse(caller)->trace_id);
}

TEST(RequestContext, LogsWhatIsAskedFor) {
    EXPECT_FALSE(is_logged(request_log::none, 504));
    EXPECT_TRUE(is_logged(request_log::failed, 504));
    EXPECT_FALSE(is_logged(request_log::failed, 404));
    EXPECT_TRUE(is_logged(request_log::all, 200));
    EXPECT_FALSE(parse_request_log("some").has_value());
    const trace span = *trace::parse(caller);
    EXPECT_EQ(log_line(&span, request_kind::get, 504, 12'340us),
              "savegames: request trace=0af7651916cd43dd8448eb211c80319c kind=get status=504 "
              "ms=12.3");
    EXPECT_EQ(log_line(nullptr, request_kind::stats, 200, 0us),
              "savegames: request trace=none kind=stats status=200 ms=0.0");
}

}  // namespace
}  // namespace savegames::request_context_tests
