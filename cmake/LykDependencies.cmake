# Everything that we take from the system, found once. Nothing is downloaded and nothing is vendored.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(CURL 7.88 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(ZLIB REQUIRED)  # packs are inflated before libgit2 sees them, and made by tests
find_package(nlohmann_json 3.11 REQUIRED)
pkg_check_modules(LIBGIT2 REQUIRED IMPORTED_TARGET libgit2>=1.5)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)

# zstd and lz4 are linked statically: the client library carries them inside and needs only libc.
find_path(LYK_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(LYK_ZSTD_STATIC libzstd.a REQUIRED)
find_path(LYK_LZ4_INCLUDE lz4.h REQUIRED)
find_library(LYK_LZ4_STATIC liblz4.a REQUIRED)
add_library(lyk_compression INTERFACE)
target_include_directories(lyk_compression SYSTEM INTERFACE
  "${LYK_ZSTD_INCLUDE}" "${LYK_LZ4_INCLUDE}")
target_link_libraries(lyk_compression INTERFACE "${LYK_ZSTD_STATIC}" "${LYK_LZ4_STATIC}")

# Highway's headers alone: Debian has its library only as a shared one (kernels/cpu/instruction_set.hpp).
find_path(LYK_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
add_library(lyk_highway INTERFACE)
target_include_directories(lyk_highway SYSTEM INTERFACE "${LYK_HIGHWAY_INCLUDE}")
