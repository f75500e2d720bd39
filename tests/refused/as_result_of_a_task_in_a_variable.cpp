// complaint: a task is used up when it is awaited
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

fl::task<> keeps_its_task(fl::task<int> kept);
fl::task<> keeps_its_task(fl::task<int> kept) { static_cast<void>(co_await fl::as_result(kept)); }
