// nginx: answers from its configuration, with a process for each worker, as TechEmpower sets it up.
#include "support/nginx.hpp"
#include "w21/pages.hpp"

#include <string>

namespace {

std::string rules() {
    std::string text;
    for (const bench::w21::page& each : bench::w21::pages) {
        text += "    location = /" + std::string{each.name} + " {\n      default_type " +
                std::string{each.type} + ";\n      return 200 '" + std::string{each.body} +
                "';\n    }\n";
    }
    return text;
}

class nginx_server {
public:
    static constexpr const char* name = "nginx";

    explicit nginx_server(std::uint64_t workers) : nginx_{folder_, workers, "", rules()} {}

    [[nodiscard]] std::uint16_t port() const { return nginx_.port(); }
    [[nodiscard]] const bench::server_process& process() const { return nginx_.process(); }

private:
    const bench::temporary_folder folder_;
    bench::nginx nginx_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w21::main<nginx_server>(argc, argv); }
