# ost_add_plugin(NAME [SOURCES ...] [DEPS ...] [OUTPUT_DIRECTORY dir] [INSTALL_DIRECTORY dir])
#
# A device plugin: the module libostinato_NAME.so, which sees the SDK only, exports ost_plugin_negotiate only, is never
# unloaded, finds its companions beside itself, and has its discovery file NAME.ostplugin.json beside it: the one in
# the source folder (NAME.ostplugin.json.in, with @OST_PLUGIN_LIBRARY@, @OST_PLUGIN_ARCH@, @OST_PLUGIN_SANITIZER@), or
# one that is written here. The target is ostinato_NAME. This file is part of the installation; the plugins of the tree
# are made with it too.

set(OST_PLUGIN_MAP "${CMAKE_CURRENT_LIST_DIR}/plugin.map")
set(OST_PLUGIN_JSON "${CMAKE_CURRENT_LIST_DIR}/plugin.ostplugin.json.in")

# What every library of a plugin has: hidden visibility, nothing of static libraries exported, $ORIGIN, no unloading.
function(ost_plugin_library target)
  set_target_properties(${target} PROPERTIES
    PREFIX "lib" INSTALL_RPATH "$ORIGIN" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE ostinato::sdk)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,nodelete)
endfunction()

function(ost_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIRECTORY;INSTALL_DIRECTORY" "SOURCES;DEPS")
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "ost_add_plugin: the name '${name}' is not [a-z][a-z0-9_]* (rule 16)")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  if(NOT arg_INSTALL_DIRECTORY)
    set(arg_INSTALL_DIRECTORY "lib/ostinato-plugins")
  endif()
  set(target ostinato_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  ost_plugin_library(${target})
  target_link_libraries(${target} PRIVATE ${arg_DEPS})
  target_link_options(${target} PRIVATE "-Wl,--version-script=${OST_PLUGIN_MAP}")
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS "${OST_PLUGIN_MAP}" LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}")

  set(OST_PLUGIN_SANITIZER none)
  if("${OSTINATO_SANITIZE} ${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "(fsanitize=[a-z,]*|^|;)(address|thread)")
    set(OST_PLUGIN_SANITIZER "${CMAKE_MATCH_2}")
  else()
    # Every symbol must be found when the plugin is made. A sanitizer's are found when it is loaded.
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set(OST_PLUGIN_NAME "${name}")
  set(OST_PLUGIN_LIBRARY "lib${target}.so")
  set(OST_PLUGIN_ARCH "${CMAKE_SYSTEM_PROCESSOR}")
  set(json "${CMAKE_CURRENT_SOURCE_DIR}/${name}.ostplugin.json.in")
  if(NOT EXISTS "${json}")
    set(json "${OST_PLUGIN_JSON}")
  endif()
  configure_file("${json}" "${arg_OUTPUT_DIRECTORY}/${name}.ostplugin.json" @ONLY)
  install(TARGETS ${target} LIBRARY DESTINATION "${arg_INSTALL_DIRECTORY}")
  install(FILES "${arg_OUTPUT_DIRECTORY}/${name}.ostplugin.json" DESTINATION "${arg_INSTALL_DIRECTORY}")
endfunction()
