// Of a build without fairlead::redis or fairlead::postgres.
#include "savegames/cluster_store.hpp"

namespace savegames {

std::expected<std::unique_ptr<save_store>, std::string> open_cluster_store(const cluster_options&) {
    return std::unexpected(
        "--profiles, --blobs: this program was built without a client of Redis or of PostgreSQL "
        "(Debian: libpq-dev)");
}

}  // namespace savegames
