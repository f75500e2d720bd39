// pgx, the client of PostgreSQL of Go.
#include "w19/go_client.hpp"

namespace {

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "select" || asked.workers != 1) return std::nullopt;
    const bench::w19::postgres_server server{asked.size};
    return bench::w19::ask_by_go(server.folder(), "pgx", server.conninfo(), asked);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W19", "pgx", measure); }
