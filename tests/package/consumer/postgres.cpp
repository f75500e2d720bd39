// A user's program with PostgreSQL: it links, and says that there is no server.
#include <fairlead/fairlead.hpp>
#include <fairlead/postgres/pool.hpp>

#include <cstdio>
#include <memory>

int main() {
    namespace postgres = fairlead::postgres;
    fairlead::scheduler_options options;
    options.driver = std::make_unique<fairlead::io::epoll_driver>();
    fairlead::scheduler scheduler{std::move(options)};
    postgres::pool db{
        scheduler, "host=/nonexistent user=me", {.offline_max = fairlead::duration::zero()}};
    const auto answer = fairlead::block_on(scheduler, db.query({"select 1"}));
    if (answer) return 1;
    std::puts(answer.error().message().c_str());
    return answer.error().code() == postgres::errc::cannot_connect ? 0 : 1;
}
