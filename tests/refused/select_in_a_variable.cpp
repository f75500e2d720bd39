// complaint: what this wait refers to ends with the expression that makes it
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

fl::task<> keeps_its_select(fl::channel<int>& from);
fl::task<> keeps_its_select(fl::channel<int>& from) {
    auto first = fl::select(fl::on(from.receive(), [](const auto&) {}));
    co_await first;
}
