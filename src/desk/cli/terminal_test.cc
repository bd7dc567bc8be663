#include "desk/cli/terminal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace xsp::cli {
namespace {

Terminal utf8() {
  Terminal terminal;
  terminal.utf8 = true;
  return terminal;
}

TEST(TerminalText, CountsCodePoints) {
  EXPECT_EQ(width_of(""), 0u);
  EXPECT_EQ(width_of("conv"), 4u);
  EXPECT_EQ(width_of("µs…"), 3u);
}

TEST(TerminalText, IsShortenedInTheMiddle) {
  EXPECT_EQ(shortened(utf8(), "resnet50", 8), "resnet50");
  EXPECT_EQ(shortened(utf8(), "resnet50/layer1/conv2", 11), "resne…conv2");
  EXPECT_EQ(shortened(utf8(), "ééééé", 3), "é…é");
  EXPECT_EQ(shortened(Terminal(), "resnet50/layer1/conv2", 12), "resne..conv2");
}

TEST(TerminalText, DifferentNamesLookDifferent) {
  using Texts = std::vector<std::string>;
  const Texts kernels = {"sm80_xmma_gemm_tilesize128x64_stage3_cublas", "layer",
                         "sm80_xmma_gemm_tilesize64x64_stage3_cublas",
                         "sm80_xmma_gemm_tilesize64x64_stage4_cublas",
                         "sm80_xmma_gemm_tilesize64x64_stage3_cublas"};
  EXPECT_EQ(shortened_apart(utf8(), kernels, 16),
            (Texts{"sm80…128x64_sta…", "layer", "sm80…age3_cublas", "sm80…age4_cublas",
                   "sm80…age3_cublas"}));
  // Names that differ in their ends alone, and names in which no character has room.
  EXPECT_EQ(shortened_apart(utf8(), {"module/layer/1/conv", "module/layer/1/norm"}, 9),
            (Texts{"modu…conv", "modu…norm"}));
  EXPECT_EQ(shortened_apart(utf8(), {"module/1/conv", "module/2/conv"}, 3), (Texts{"…1…", "…2…"}));
  EXPECT_EQ(shortened_apart(utf8(), {"module/1/conv", "module/2/conv"}, 2), (Texts{"m…", "m…"}));
}

TEST(TerminalText, BarsHaveEighths) {
  EXPECT_EQ(bar(utf8(), 1, 3), "███");
  EXPECT_EQ(bar(utf8(), 0.5, 3), "█▌");
  EXPECT_EQ(bar(utf8(), 0.0001, 3), "▏");  // a small value is still visible
  EXPECT_EQ(bar(utf8(), 0, 3), "");
  EXPECT_EQ(bar(utf8(), 7, 3), "███");
  EXPECT_EQ(bar(Terminal(), 0.5, 4), "##");
  EXPECT_EQ(bar(Terminal(), std::nan(""), 4), "");
}

TEST(TerminalText, HasColoursOnlyWhereAllowed) {
  Terminal terminal;
  EXPECT_EQ(styled(terminal, Style::kTitle, "x"), "x");
  terminal.colours = true;
  EXPECT_EQ(styled(terminal, Style::kTitle, "x"), "\x1b[1mx\x1b[0m");
  EXPECT_EQ(styled(terminal, Style::kPlain, "x"), "x");
}

TEST(Terminal, WrapsBetweenWordsAndCutsNone) {
  EXPECT_EQ(wrapped(" 1. one two three", 12, 4), " 1. one two\n    three\n");
  EXPECT_EQ(wrapped("exactly ten", 11, 0), "exactly ten\n");
  EXPECT_EQ(wrapped("a_word_that_is_long b", 10, 2), "a_word_that_is_long\n  b\n");
  EXPECT_EQ(wrapped("größer größer", 13, 0), "größer größer\n");
  EXPECT_EQ(wrapped("", 10, 2), "\n");
}

}  // namespace
}  // namespace xsp::cli
