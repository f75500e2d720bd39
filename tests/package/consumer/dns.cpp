// A user's program with names: it links, and finds what needs no server.
#include <fairlead/dns/resolver.hpp>
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <memory>
#include <utility>

int main() {
    fairlead::scheduler_options options;
    options.driver = std::make_unique<fairlead::io::epoll_driver>();
    fairlead::scheduler scheduler{std::move(options)};
    auto resolver = fairlead::dns::resolver::make(scheduler);
    if (!resolver) return 1;
    const auto found = fairlead::block_on(scheduler, resolver->resolve("localhost", 80));
    if (!found) return 1;
    std::puts(found->front().to_string().c_str());
    return 0;
}
