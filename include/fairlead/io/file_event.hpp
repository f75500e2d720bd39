// What has happened to a watched file, or in a watched folder.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <string>

namespace fairlead::io {

/// A file or a folder that a `file_watch` watches. Numbers of ended watches are not used again.
enum class watched_id : int {
    none = 0,  ///< of events that are about no watch
};

/// One event.
struct file_event {
    /// What has happened. Of a watched folder, all but `ended` and `moved_itself` are also told of
    /// the files in it, with their names.
    enum class kind : std::uint8_t {
        created,       ///< a new name is in the folder: of a new file, or of another link to one
        removed,       ///< a name in the folder is gone
        moved,         ///< a file got a new name, and perhaps folder; it may have replaced another
        moved_in,      ///< the same, from a folder that is not watched
        moved_out,     ///< the same, to a folder that is not watched
        written,       ///< a program that had the file open to write has closed it
        modified,      ///< a program has written to the file, or has changed its size
        attributes,    ///< its permissions, owner, times or number of links have changed
        moved_itself,  ///< what is watched has another path now, and is watched still
        ended,         ///< what was watched is gone, or its file system: the watch has ended
        overflow,      ///< the kernel has dropped events: any file may have changed
    };

    kind what = kind::overflow;           ///< what has happened
    watched_id where = watched_id::none;  ///< which watch; of a move, that of the new folder
    std::string name = {};                ///< the file in the folder; empty: what is watched itself
    watched_id from = watched_id::none;   ///< of `moved`: the watch of the old folder
    std::string from_name = {};           ///< of `moved`: the old name
    bool is_folder = false;               ///< the event is about a folder
};

}  // namespace fairlead::io
