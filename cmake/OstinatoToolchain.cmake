# Flags of every target, ccache and mold where they exist, and where the outputs go.
# Invariant: -ffp-contract=off everywhere. Strict numerics allow an fma only where the IR says so.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()
# Line tables are enough for backtraces and profiles, and halve what the linker has to read.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")
set(CMAKE_C_FLAGS_DEBUG "-Og -g")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/archive")
set(OST_PLUGIN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/ostinato-plugins")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

add_compile_options(-ffp-contract=off "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these in its own <string> and <expected> code once they are inlined, 14 the second in <optional>.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
endif()
if(OSTINATO_WERROR)
  add_compile_options(-Werror)
endif()

if(OSTINATO_SANITIZE)
  list(JOIN OSTINATO_SANITIZE "," _sanitizers)
  add_compile_options("-fsanitize=${_sanitizers}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${_sanitizers}")
else()
  add_link_options(-Wl,--no-undefined)
endif()

# ccache: relative paths and no working folder in the hash, so that a fresh clone elsewhere hits.
find_program(OST_CCACHE ccache)
find_program(OST_ENV env)
if(OST_CCACHE AND OST_ENV AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(_launcher "${OST_ENV};CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=true;${OST_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${_launcher}")
  set(CMAKE_C_COMPILER_LAUNCHER "${_launcher}")
endif()

find_program(OST_MOLD mold)
if(OST_MOLD AND (NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1))
  add_link_options(-fuse-ld=mold)
endif()
