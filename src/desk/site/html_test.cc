#include "desk/site/html.h"

#include <gtest/gtest.h>

#include <string>

namespace xsp::site {
namespace {

catalogue::Figure doubted(const std::string& doubt) {
  catalogue::Figure figure;
  figure.value = 1;
  figure.unit = "ns";
  figure.doubt = doubt;
  return figure;
}

TEST(Html, ADoubtIsMarkedByItsFirstWordsAndTheRestIsItsTitle) {
  const catalogue::Figure slow = doubted("not settled: stopped by time");
  const catalogue::Figure few = doubted("not settled: 2 blocks");
  const catalogue::Figure other = doubted("disturbed: other programs ran");
  EXPECT_EQ(
      doubt_html({&slow, &few, &other, &slow}),
      "<small class=\"doubt\" title=\"stopped by time; 2 blocks; disturbed: other programs ran\">"
      "not settled</small>");
  const catalogue::Figure short_one = doubted("incomplete");
  EXPECT_EQ(doubt_html({&short_one}),
            "<small class=\"doubt\" title=\"incomplete\">incomplete</small>");
  const catalogue::Figure wide = doubted("not settled: stopped by time at ±3 %, 1.0 % was wanted");
  const catalogue::Figure wider = doubted("not settled: stopped by time at ±4 %, 1.0 % was wanted");
  EXPECT_EQ(
      doubt_html({&wide, &wider}),
      "<small class=\"doubt\" title=\"stopped by time at ±3 %; stopped by time at ±4 %; 1.0 % was "
      "wanted\">not settled</small>");
  EXPECT_EQ(doubt_html({nullptr}), "");
}

TEST(Html, AColumnIsSortedByNumbersOfSixDigits) {
  const std::string html = table_html("t", "caption", {"model", "latency"},
                                      {{text_cell("a"), number_cell(63234721.9, "ns")}});
  EXPECT_NE(html.find("data-key=\"6.32347e+07\""), std::string::npos) << html;
}

TEST(Html, AFilesNameBreaksBetweenItsParts) {
  EXPECT_EQ(file_html("a/b<c.xsp"), "<span class=\"file\">a/<wbr>b&lt;c.<wbr>xsp</span>");
}

}  // namespace
}  // namespace xsp::site
