# What comes from the system (scripts/install-deps.sh installs it). Core needs no LLVM and no vendor's header.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS json)  # Boost.JSON is linked, Boost.DLL is headers
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)  # .npz files
find_package(Python3 3.11 COMPONENTS Interpreter)  # the repository checks and the lit tests
target_compile_definitions(Boost::headers INTERFACE BOOST_DLL_USE_STD_FS)

find_path(OST_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(OST_XXHASH_LIBRARY xxhash REQUIRED)
add_library(xxhash::xxhash UNKNOWN IMPORTED GLOBAL)
set_target_properties(xxhash::xxhash PROPERTIES
  IMPORTED_LOCATION "${OST_XXHASH_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OST_XXHASH_INCLUDE_DIR}")

# LLVM is for plugins that ask for it. The result is OSTINATO_HAVE_LLVM.
set(OSTINATO_HAVE_LLVM OFF)
if(NOT OSTINATO_BUILD_CPU_PLUGIN STREQUAL "OFF")
  # Debian's folder first: an older LLVM may well be the default one. LLVM_DIR given by the user wins.
  find_package(LLVM CONFIG QUIET PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
  if(NOT LLVM_FOUND)
    find_package(LLVM 22.1 CONFIG QUIET)
  endif()
  if(LLVM_FOUND AND LLVM_VERSION_MAJOR EQUAL 22)
    set(OSTINATO_HAVE_LLVM ON)
    message(STATUS "cpu plugin: on, LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
  elseif(OSTINATO_BUILD_CPU_PLUGIN STREQUAL "AUTO")
    message(STATUS "cpu plugin: off, LLVM 22 not found (package llvm-22-dev)")
  else()
    message(FATAL_ERROR "the cpu plugin needs LLVM 22 and it was not found: install llvm-22-dev "
                        "or set OSTINATO_BUILD_CPU_PLUGIN=OFF")
  endif()
else()
  message(STATUS "cpu plugin: off, OSTINATO_BUILD_CPU_PLUGIN is OFF")
endif()
