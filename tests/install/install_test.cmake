# Installs the build, moves the installation, builds the downstream project against it, and runs what came out.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/first place")
file(RENAME "${WORK_DIR}/first place" "${WORK_DIR}/second place")
set(prefix "${WORK_DIR}/second place")

run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_C_COMPILER=${CC}" "-DMEMORY_ONLY=${SOURCE_DIR}/../../conformance/memory_only.c")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/uses_library")
run("${WORK_DIR}/build/uses_library_cpp")
if(EXISTS "${WORK_DIR}/build/uses_llvm")
  run("${WORK_DIR}/build/uses_llvm")
endif()

# The plugin is installed beside those that came with the installation, and found there by name.
run("${CMAKE_COMMAND}" --install "${WORK_DIR}/build" --prefix "${prefix}")
run("${prefix}/bin/ost-conform" memory_only --level 3)
run("${prefix}/bin/ost-conform" "${prefix}/lib/ostinato-plugins/memory_only.ostplugin.json" --level 0 --only "[en]*")

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} "${prefix}/lib/pkgconfig:${prefix}/lib/x86_64-linux-gnu/pkgconfig:${prefix}/lib64/pkgconfig")
  execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs ostinato OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${CC}" "${SOURCE_DIR}/uses_library.c" -o "${WORK_DIR}/by_pkg_config" ${flags})
endif()
run("${prefix}/bin/ost-conform" ref --level 1)
if(TOOL)
  run("${prefix}/bin/ost" version)
  run("${prefix}/bin/ost" plugins)
endif()
