# Run by CTest, for a GoogleTest program: adds a test for each suite. A test for each case would start the program
# thousands of times, which takes longer than most cases.
#
# Needs xsp_program (its path), xsp_label, xsp_places, xsp_cost, and of the suites that match xsp_long, xsp_long_cost.
if(NOT EXISTS "${xsp_program}")
  # Fails if it is asked for: a build may have other targets alone.
  get_filename_component(xsp_name "${xsp_program}" NAME)
  add_test("${xsp_name}_NOT_BUILT" "${xsp_program}")
  return()
endif()
execute_process(COMMAND "${xsp_program}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${xsp_program}: cannot list its tests: is it built?")
endif()
string(REPLACE "\n" ";" lines "${listed}")
foreach(line ${lines})
  # "Suite." or "Suite.  # TypeParam = ...", then its cases, which are indented.
  if(line MATCHES "^([A-Za-z0-9_/]+\\.)( |$)")
    set(suite "${CMAKE_MATCH_1}")
    add_test("${suite}*" "${xsp_program}" "--gtest_filter=${suite}*" --gtest_brief=1)
    set(xsp_own_cost ${xsp_cost})
    if(suite MATCHES "${xsp_long}")
      set(xsp_own_cost ${xsp_long_cost})
    endif()
    set_tests_properties("${suite}*" PROPERTIES
      TIMEOUT 600 PROCESSORS ${xsp_places} COST ${xsp_own_cost} LABELS "${xsp_label}")
  endif()
endforeach()
