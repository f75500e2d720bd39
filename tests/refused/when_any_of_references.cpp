// complaint: let the task give a pointer
#include <fairlead/combine/when_any.hpp>
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

fl::task<int&> refers();
fl::task<> takes_the_first();
fl::task<> takes_the_first() { co_await fl::when_any(refers(), refers()); }
