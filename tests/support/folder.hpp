// A folder for the files of a test, which goes away with it.
#pragma once

#include <dirent.h>
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fairlead::test {

class folder {
public:
    folder() {
        std::string name = (std::filesystem::temp_directory_path() / "fairlead-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder " + name};
        path_ = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    [[nodiscard]] std::string path_of(std::string_view name) const {
        return (path_ / name).string();
    }

    void put(std::string_view name, std::string_view text) const {
        std::ofstream file{path_of(name), std::ios::binary};
        file << text;
        if (!file.flush()) throw std::runtime_error{"cannot write " + path_of(name)};
    }

    [[nodiscard]] std::string text_of(std::string_view name) const {
        std::ifstream file{path_of(name), std::ios::binary};
        return {std::istreambuf_iterator<char>{file}, {}};
    }

    // By calls that no test lets fail: those of the standard library are the library's own.
    [[nodiscard]] std::size_t files() const {
        DIR* const all = ::opendir(path_.c_str());
        if (all == nullptr) throw std::runtime_error{"no folder " + path_.string()};
        std::size_t count = 0;
        while (::readdir(all) != nullptr) ++count;
        ::closedir(all);
        return count - 2;  // without the folder itself and the one above
    }

private:
    std::filesystem::path path_;
};

}  // namespace fairlead::test
