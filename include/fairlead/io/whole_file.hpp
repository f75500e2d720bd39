// A file as a whole: read at once, or replaced so that a crash leaves the old one or the new one.
//
//     auto text = co_await fl::io::read_file("settings.json", 1 << 20);
//     auto done = co_await fl::io::replace_file("settings.json", to_json(settings));
//
// Each is one call on a thread, as with `fl::blocking`. Errors are those of the system, and
// `operation_canceled` or `stream_timeout` for a task that was asked to stop, or was overdue,
// before the call has begun.
#pragma once

#include <fairlead/coro/task.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <system_error>

namespace fairlead::io {

/// The whole file at `path`. A file of more than `limit` bytes gives `file_too_large`.
[[nodiscard]] task<std::expected<std::string, std::error_code>> read_file(std::string path,
                                                                          std::size_t limit);

/// Makes `data` the content of the file at `path`, durably and at once: a crash leaves the old file
/// or the new one. Writes a file beside it, syncs and renames it, and syncs the folder, which must
/// be readable. The rights to read, write and run stay as they are, those to act as owner or group
/// do not; those of a new file are 0644 less the umask. After an error the old file is there as
/// before, unless the sync of the folder has failed: then the new file is there, and may be lost in
/// a crash. A crash may leave the file beside it, whose name ends with ".new". A symbolic link is
/// replaced, not what it points to. Another owner or group, and access control lists, are not kept.
[[nodiscard]] task<std::expected<void, std::error_code>> replace_file(std::string path,
                                                                      std::string data);

}  // namespace fairlead::io
