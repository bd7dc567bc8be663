# Run by CTest, for a GoogleTest program: adds a test for each suite. A test for each case would start the program
# thousands of times, which takes longer than most cases.
#
# Needs xsp_program (its path), xsp_label, xsp_places, xsp_cost; and of the suites that match xsp_long: xsp_long_cost,
# and xsp_long_parts, which is the number of tests that such a suite is divided into.
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
    set(parts 1)
    set(cost ${xsp_cost})
    if(suite MATCHES "${xsp_long}")
      set(parts ${xsp_long_parts})
      set(cost ${xsp_long_cost})
    endif()
    foreach(part RANGE 1 ${parts})
      set(test "${suite}*")
      if(parts GREATER 1)
        set(test "${suite}* ${part} of ${parts}")
      endif()
      math(EXPR index "${part} - 1")
      add_test("${test}" "${xsp_program}" "--gtest_filter=${suite}*" --gtest_brief=1)
      set_tests_properties("${test}" PROPERTIES TIMEOUT 1800 PROCESSORS ${xsp_places} COST ${cost} LABELS "${xsp_label}"
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
    endforeach()
  endif()
endforeach()
