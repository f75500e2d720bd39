// complaint: cannot hold a reference
#include <fairlead/fairlead.hpp>

namespace fl = fairlead;

namespace {

fl::task<int&> reference(int& to) { co_return to; }

}  // namespace

fl::task<> gives_no_reference(int& to);
fl::task<> gives_no_reference(int& to) { static_cast<void>(co_await fl::as_result(reference(to))); }
