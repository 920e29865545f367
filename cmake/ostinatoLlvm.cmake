# ost_add_kir_llvm(TARGET)
#
# Adds the lowering of KIR level 2 to LLVM (<ostinato/llvm/lower.hpp>, <ostinato/llvm/spirv.hpp>) to a library of a
# plugin, and links LLVM 22: its archives where they are, so that nothing of it can meet another LLVM of the process,
# the shared library otherwise. Needs find_package(LLVM 22). This file is part of the installation.

if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../sdk/llvm/lower.cpp")
  set(OST_KIR_LLVM_DIR "${CMAKE_CURRENT_LIST_DIR}/../sdk/llvm")
else()
  set(OST_KIR_LLVM_DIR "${CMAKE_CURRENT_LIST_DIR}/llvm")
endif()

function(ost_add_kir_llvm target)
  if(NOT LLVM_VERSION_MAJOR EQUAL 22)
    message(FATAL_ERROR "ost_add_kir_llvm: needs find_package(LLVM 22), found '${LLVM_VERSION}'")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${OST_KIR_LLVM_DIR}/*.cpp")
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PRIVATE "${OST_KIR_LLVM_DIR}/include")
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  find_library(OST_LLVM_SPIRV_ARCHIVE LLVMSPIRVCodeGen PATHS "${LLVM_LIBRARY_DIR}" NO_DEFAULT_PATH)
  if(OST_LLVM_SPIRV_ARCHIVE)
    llvm_map_components_to_libnames(libraries SPIRVCodeGen SPIRVDesc SPIRVInfo CodeGen Core ScalarOpts Target
                                    TransformUtils)
  else()
    set(libraries LLVM)
  endif()
  target_link_libraries(${target} PRIVATE ostinato::sdk ${libraries})
endfunction()
