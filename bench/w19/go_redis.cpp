// go-redis, a client of Redis of Go.
#include "w19/go_client.hpp"

#include <string>

namespace {

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "get" || asked.workers != 1) return std::nullopt;
    const bench::w19::redis_server server{asked.size};
    const std::string where = "127.0.0.1:" + std::to_string(server.port());
    return bench::w19::ask_by_go(server.folder(), "redis", where, asked);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W19", "go_redis", measure); }
