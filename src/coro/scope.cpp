#include <fairlead/coro/scope.hpp>

namespace fairlead {

coro::scope_child* scope::make_child_with_token(task<>& body, spawn_options& options,
                                                std::uint32_t depth) {
    return new coro::scope_child_with_token{
        *this, where_, std::move(body), std::move(options.stop), options.name, depth};
}

}  // namespace fairlead
