// Redis' own tool, which does not look at the values.
#include "w19/requests.hpp"

#include <cstdlib>
#include <string>

namespace {

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.name != "get" || asked.workers != 1) return std::nullopt;
    const bench::w19::redis_server server{asked.size};
    const double cpu_before = bench::w19::cpu_seconds_of_tools();
    const std::string said = bench::w19::run_tool(
        server.folder(),
        {"redis-benchmark", "-h", "127.0.0.1", "-p", std::to_string(server.port()), "-c",
         std::to_string(asked.connections), "-P", std::to_string(asked.in_flight), "-n",
         std::to_string(asked.count), "-t", "get", "--csv"});
    const std::string_view before = "\"GET\",\"";
    const std::size_t rate = said.find(before);
    bench::w19::require(rate != said.npos, "redis-benchmark tells no rate");
    const double tells = std::strtod(said.c_str() + rate + before.size(), nullptr);
    return bench::w19::told(tells, cpu_before, asked);
}

}  // namespace

int main(int argc, char** argv) {
    return bench::run_main(argc, argv, "W19", "redis_benchmark", measure);
}
