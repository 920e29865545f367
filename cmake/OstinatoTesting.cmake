# Tests: GoogleTest binaries and scripts as one ctest entry each, with a label for the kind.
# They run in the source folder (data by relative path), with a cache of their own, and never see the user's settings.

find_package(GTest REQUIRED)

set(OST_TEST_LABELS unit ir conformance loader capi capture manifest install python fuzz repo)
set(OST_TEST_ENVIRONMENT
  GTEST_COLOR=no GTEST_SHUFFLE=0 NO_COLOR=1 LC_ALL=C.UTF-8
  "OSTINATO_BUILD_DIR=${PROJECT_BINARY_DIR}"
  "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test-cache"
  "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0:allocator_may_return_null=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=1")

# Intel's driver opens a library in a way that AddressSanitizer ends the process for; tests of it name their own driver.
if(OSTINATO_SANITIZE)
  list(APPEND OST_TEST_ENVIRONMENT "ZE_ENABLE_ALT_DRIVERS=/nonexistent/libze_none.so")
endif()

function(_ost_test_properties name label timeout environment)
  if(NOT label IN_LIST OST_TEST_LABELS)
    message(FATAL_ERROR "test ${name}: label '${label}' is none of ${OST_TEST_LABELS}")
  endif()
  if(NOT timeout)
    set(timeout 600)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${label}" TIMEOUT "${timeout}" SKIP_RETURN_CODE 77
    ENVIRONMENT "${OST_TEST_ENVIRONMENT};${environment}")
endfunction()

# ost_add_test(NAME x LABEL unit SOURCES ... [DEPS ...] [ARGS ...] [ENVIRONMENT ...] [TIMEOUT s] [OWN_MAIN])
# A GoogleTest binary, or with OWN_MAIN any program that exits 0 (77: skipped).
function(ost_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "OWN_MAIN" "NAME;LABEL;TIMEOUT" "SOURCES;DEPS;ARGS;ENVIRONMENT")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
  if(NOT arg_OWN_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gtest_main)
  endif()
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  _ost_test_properties(${arg_NAME} "${arg_LABEL}" "${arg_TIMEOUT}" "${arg_ENVIRONMENT}")
endfunction()

# ost_add_script_test(NAME x LABEL repo COMMAND ... [ENVIRONMENT ...] [TIMEOUT s])
function(ost_add_script_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL;TIMEOUT" "COMMAND;ENVIRONMENT")
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  _ost_test_properties(${arg_NAME} "${arg_LABEL}" "${arg_TIMEOUT}" "${arg_ENVIRONMENT}")
endfunction()
