// complaint: the handlers of a select give results of a common type
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/fairlead.hpp>

#include <chrono>

namespace fl = fairlead;

fl::task<> gives_a_result_sometimes(fl::channel<int>& from);
fl::task<> gives_a_result_sometimes(fl::channel<int>& from) {
    co_await fl::select(fl::on(from.receive(), [](const auto&) { return 1; }),
                        fl::on(fl::sleep_for(std::chrono::seconds{1}), [] {}));
}
