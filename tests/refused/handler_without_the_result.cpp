// complaint: the handler of a branch takes what its wait gives
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

fl::task<> forgets_the_result(fl::channel<int>& from);
fl::task<> forgets_the_result(fl::channel<int>& from) {
    co_await fl::select(fl::on(from.receive(), [] {}));
}
