// complaint: send_many cannot be a branch of a select
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/fairlead.hpp>

#include <span>

namespace fl = fairlead;

fl::task<> sends_a_part(fl::channel<int>& into, std::span<int> values);
fl::task<> sends_a_part(fl::channel<int>& into, std::span<int> values) {
    co_await fl::select(fl::on(into.send_many(values), [](const auto&) {}));
}
