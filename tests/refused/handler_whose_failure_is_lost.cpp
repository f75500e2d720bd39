// complaint: a failure that this handler returns would be lost
#include <fairlead/fairlead.hpp>
#include <fairlead/message/port.hpp>

#include <expected>

namespace fl = fairlead;

void attaches(fl::scheduler& where, fl::port<int>& numbers);
void attaches(fl::scheduler& where, fl::port<int>& numbers) {
    const auto handler = [](int) -> std::expected<void, int> { return std::unexpected{1}; };
    static_cast<void>(numbers.receive_with(where, handler));
}
