// PostgreSQL's own tool, with one thread. Requests that are in flight together are one pipeline,
// with one end of a transaction: an advantage.
#include "w19/requests.hpp"

#include <cstdlib>
#include <string>

namespace {

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "select" || asked.workers != 1) return std::nullopt;
    const bench::w19::postgres_server server{asked.size};
    const std::string set = "\\set id random(1, " + std::to_string(bench::w19::rows) + ")\n";
    const std::string select = "select body from pages where id = :id;\n";
    std::string script;
    for (std::uint64_t i = 0; i != asked.in_flight; ++i) script += set + select;
    if (asked.in_flight != 1) script = "\\startpipeline\n" + script + "\\endpipeline\n";
    server.folder().put("script.sql", script);
    const std::uint64_t rounds = asked.count / (asked.in_flight * asked.connections);
    const double cpu_before = bench::w19::cpu_seconds_of_tools();
    const std::string said = bench::w19::run_tool(
        server.folder(),
        {bench::w19::postgres_server::program("pgbench"), "-n", "-M", "prepared", "-j", "1", "-c",
         std::to_string(asked.connections), "-t", std::to_string(rounds), "-f",
         server.folder().path_of("script.sql"), server.conninfo()});
    const std::size_t rate = said.find("tps = ");
    bench::w19::require(rate != said.npos && said.find("failed transactions: 0 ") != said.npos,
                        "pgbench has failures");
    const double tells = std::strtod(said.c_str() + rate + 6, nullptr);
    return bench::w19::told(tells * static_cast<double>(asked.in_flight), cpu_before, asked);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W19", "pgbench", measure); }
