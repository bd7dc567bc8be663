#include "formats/list/labelled_files.h"

#include <gtest/gtest.h>

namespace xsp::formats {
namespace {

std::string read_back(const char* text) {
  const auto files = parse_labelled_files(text, "set.csv");
  if (!files.ok()) return files.error().text;
  std::string result;
  for (const LabelledFile& file : *files) {
    result += std::to_string(file.line) + "|" + file.file + "|" + file.label + "\n";
  }
  return result;
}

TEST(LabelledFiles, AreSeparatedByCommasOrTabs) {
  EXPECT_EQ(read_back("file,label\na.jpg,cat\r\n\nb.jpg,dog"), "2|a.jpg|cat\n4|b.jpg|dog\n");
  EXPECT_EQ(read_back("a,1.jpg\tcat\n\"b\"\tdog\n"), "1|a,1.jpg|cat\n2|\"b\"|dog\n");
  EXPECT_EQ(read_back("\"a,1.jpg\",\"big \"\"cat\"\"\"\n"), "1|a,1.jpg|big \"cat\"\n");
  EXPECT_EQ(read_back("\xef\xbb\xbf"
                      "file,label\na,b\n"),
            "2|a|b\n");
}

TEST(LabelledFiles, FaultsNameTheirLine) {
  EXPECT_EQ(read_back("a,b\nc\n"),
            "set.csv:2: 1 field: write the file, a comma or a tab, and the label");
  EXPECT_EQ(read_back("a,b,c\n"),
            "set.csv:1: 3 fields: write the file, a comma or a tab, and the label");
  EXPECT_EQ(read_back(",b\n"), "set.csv:1: the file is missing: name it before the label");
  EXPECT_EQ(read_back("a,\n"), "set.csv:1: the label is missing: write it behind the file");
  EXPECT_EQ(read_back("a,\"b\n"), "set.csv:1: a quote is not closed, or text follows it");
  EXPECT_EQ(read_back("a,\"b\"c\n"), "set.csv:1: a quote is not closed, or text follows it");
  EXPECT_EQ(read_back("a,\xff\n"),
            "set.csv:1: not plain text: write it in UTF-8, without control characters");
  EXPECT_EQ(read_back("file,label\n"),
            "set.csv: no files: write a file and its label in each line");
  EXPECT_EQ(read_back(""), "set.csv: no files: write a file and its label in each line");
}

}  // namespace
}  // namespace xsp::formats
