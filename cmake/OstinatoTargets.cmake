# Functions that make a layer of core, the library, a plugin and an executable from the files in a folder.

set_property(GLOBAL PROPERTY OST_LAYERS "")
add_custom_target(runtime)  # all that an installation has: the library, the plugins and the tools, but no tests

# ost_add_layer(NAME [DEPS ...]): core/NAME/**/*.cpp becomes ost_core_NAME. It sees every layer added before it.
# A folder without .cpp files (or a layer that does not exist yet) becomes an INTERFACE target.
function(ost_add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  get_property(layers GLOBAL PROPERTY OST_LAYERS)
  set(lower ${layers})
  list(REVERSE lower)  # link order: highest first
  list(TRANSFORM lower PREPEND ost_core_)
  set(folder "${PROJECT_SOURCE_DIR}/core/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(target ost_core_${name})
  if(NOT sources)
    set(visibility INTERFACE)
    add_library(${target} INTERFACE)
  elseif(name STREQUAL "capi")
    # Objects, not an archive: every entry point must reach libostinato.so although nothing refers to it.
    set(visibility PUBLIC)
    add_library(${target} OBJECT ${sources})
    target_compile_definitions(${target} PRIVATE OST_BUILDING_LIBRARY)
  else()
    set(visibility PUBLIC)
    add_library(${target} STATIC ${sources})
  endif()
  target_include_directories(${target} ${visibility} "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} ${visibility} ${lower} ${arg_DEPS})
  set_property(GLOBAL APPEND PROPERTY OST_LAYERS ${name})
endfunction()

# ost_add_library(): libostinato.so from core/capi. It exports ost_* and nothing else.
function(ost_add_library)
  get_target_property(type ost_core_capi TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    message(STATUS "libostinato.so: nothing to build, core/capi has no sources")
    return()
  endif()
  set(map "${PROJECT_SOURCE_DIR}/cmake/libostinato.map")
  add_library(ostinato SHARED)
  add_library(ostinato::ostinato ALIAS ostinato)
  target_link_libraries(ostinato PRIVATE ost_core_capi PUBLIC ostinato::sdk)
  target_link_options(ostinato PRIVATE "-Wl,--version-script=${map}" -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  add_dependencies(runtime ostinato)
  set_target_properties(ostinato PROPERTIES
    LINKER_LANGUAGE CXX LINK_DEPENDS "${map}"
    VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}" INSTALL_RPATH "$ORIGIN")
endfunction()

# The plugins of this tree are made as a stranger's are.
include(ostinatoPlugin)
include(ostinatoLlvm)

# ost_add_tree_plugin(NAME SOURCES ... [DEPS ...]): ost_add_plugin, in the folder where this build finds it.
function(ost_add_tree_plugin name)
  ost_add_plugin(${name} ${ARGN} OUTPUT_DIRECTORY "${OST_PLUGIN_OUTPUT_DIRECTORY}"
                 INSTALL_DIRECTORY "${CMAKE_INSTALL_LIBDIR}/ostinato-plugins")
  add_dependencies(runtime ostinato_${name})
endfunction()

# ost_add_plugin_companion(NAME SOURCES ... [DEPS ...]): a library beside a plugin that the plugin opens itself; it
# exports what its sources mark as visible.
function(ost_add_plugin_companion name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  set(target ostinato_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  ost_plugin_library(${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${OST_PLUGIN_OUTPUT_DIRECTORY}")
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/ostinato-plugins")
  add_dependencies(runtime ${target})
endfunction()

# ost_add_executable(NAME SOURCES ... [DEPS ...]): bin/NAME, on the public C ABI only.
function(ost_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ostinato::ostinato ${arg_DEPS})
  add_dependencies(runtime ${name})
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

function(ost_add_subdirectory_if_present folder)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
    add_subdirectory(${folder})
  endif()
endfunction()
