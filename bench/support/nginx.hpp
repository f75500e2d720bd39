// nginx with a configuration of ours, on a port of the loopback interface.
#pragma once

#include "support/server_process.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

class nginx {
public:
    /// `rules`: of its only server. `listening`: what else the line `listen` says.
    nginx(const temporary_folder& folder, std::uint64_t workers, std::string_view listening,
          const std::string& rules)
        : process_{{FAIRLEAD_NGINX, "-p", folder.path_of(""), "-e", folder.path_of("nginx.log"),
                    "-c", configuration(folder, workers, listening, rules)},
                   folder.path_of("nginx.out")} {
        process_.wait_for(port_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] const server_process& process() const { return process_; }

private:
    [[nodiscard]] std::string configuration(const temporary_folder& folder, std::uint64_t workers,
                                            std::string_view listening,
                                            const std::string& rules) const {
        std::string text = "daemon off;\npid " + folder.path_of("nginx.pid") +
                           ";\nworker_processes " + std::to_string(workers) +
                           ";\nevents { worker_connections 20000; }\n"
                           "http {\n  access_log off;\n  keepalive_requests 1000000000;\n";
        for (const std::string each : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
            text += "  " + each + "_temp_path " + folder.path_of(each) + ";\n";
        }
        // A socket for each worker, so that none has all connections.
        text += "  server {\n    listen 127.0.0.1:" + std::to_string(port_) + " reuseport" +
                std::string{listening} + ";\n" + rules + "  }\n}\n";
        folder.put("nginx.conf", text);
        return folder.path_of("nginx.conf");
    }

    const std::uint16_t port_ = free_port();
    server_process process_;
};

}  // namespace bench
