# Installs the build, moves the installation, builds the downstream project against it, and runs what came out.

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/first place")
file(RENAME "${WORK_DIR}/first place" "${WORK_DIR}/second place")
set(prefix "${WORK_DIR}/second place")

run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_C_COMPILER=${CC}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/uses_library")
run("${prefix}/bin/ost-conform" ref --level 1)
if(TOOL)
  run("${prefix}/bin/ost" version)
  run("${prefix}/bin/ost" plugins)
endif()
