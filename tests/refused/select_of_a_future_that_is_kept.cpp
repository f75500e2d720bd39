// complaint: a branch of a select is a wait of the library, such as channel.receive
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

fl::task<> keeps_its_future(fl::future<int>& kept);
fl::task<> keeps_its_future(fl::future<int>& kept) {
    static_cast<void>(co_await fl::select(fl::on(kept, [](int) {})));
}
