# Headers that nearly every source reads, read once for all libraries and once for all test programs. It makes clang, which
# keeps instances of templates too, an eighth quicker and g++ hardly, so CMakePresets.json has it off but for clang's presets.
set(kb_common_headers <algorithm> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <sstream> <string>
    <string_view> <thread> <vector> <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "")

add_library(kb_precompiled OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cc)
target_link_libraries(kb_precompiled PRIVATE kb_settings fmt::fmt)
target_precompile_headers(kb_precompiled PRIVATE ${kb_common_headers})

if(BUILD_TESTING)
  add_library(kb_precompiled_tests OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cc)
  set_target_properties(kb_precompiled_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as in programs
  target_link_libraries(kb_precompiled_tests PRIVATE kb_settings fmt::fmt GTest::gtest GTest::gmock)
  target_compile_options(kb_precompiled_tests PRIVATE -fPIE -O0)
  target_precompile_headers(kb_precompiled_tests PRIVATE ${kb_common_headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()

# kb_precompile(TARGET...): libraries.
function(kb_precompile)
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM kb_precompiled)
  endforeach()
endfunction()
