#include "desk/cli/messages.h"

#include <gtest/gtest.h>

namespace xsp::cli {
namespace {

TEST(Messages, AMessageIsOneLineOfALogAndWrappedOnATerminal) {
  Terminal log;
  log.width = 12;
  EXPECT_EQ(message_lines(log, "note: one two three", 6), "note: one two three\n");
  log.is_terminal = true;
  EXPECT_EQ(message_lines(log, "note: one two three", 6), "note: one\n      two\n      three\n");
}

TEST(Messages, WhatACommandDoesStandsBesideItOrBelowIt) {
  Terminal terminal;
  terminal.width = 30;
  EXPECT_EQ(command_lines(terminal, "next: ", "xsp a", 8, "all of them"),
            "next: xsp a       all of them\n");
  EXPECT_EQ(command_lines(terminal, "next: ", "xsp findings a.xsp", 18, "all of them, and how"),
            "next: xsp findings a.xsp\n          all of them, and how\n");
}

}  // namespace
}  // namespace xsp::cli
