// The BIO through which OpenSSL reads the input of an engine and writes the output.
#pragma once

#include <fairlead/detail/tls/tls_engine.hpp>

#include <openssl/bio.h>

#include <cstddef>

namespace fairlead::io::detail {

struct tls_bio {
    // Null without memory. The engine must outlive it.
    [[nodiscard]] static BIO* make(tls_engine& of) noexcept;

private:
    [[nodiscard]] static BIO_METHOD* method() noexcept;
    static int read(BIO* bio, char* to, std::size_t size, std::size_t* count) noexcept;
    static int write(BIO* bio, const char* from, std::size_t size, std::size_t* count) noexcept;
    static long control(BIO* bio, int command, long number, void* pointer) noexcept;
};

}  // namespace fairlead::io::detail
