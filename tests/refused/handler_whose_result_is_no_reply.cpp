// complaint: a handler of requests returns the reply
#include <fairlead/fairlead.hpp>
#include <fairlead/message/port.hpp>

#include <string>

namespace fl = fairlead;

void attaches(fl::scheduler& where, fl::port<fl::request<int, int>>& numbers);
void attaches(fl::scheduler& where, fl::port<fl::request<int, int>>& numbers) {
    static_cast<void>(numbers.receive_with(where, [](int) { return std::string{"seven"}; }));
}
