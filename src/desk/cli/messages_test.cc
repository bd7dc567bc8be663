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

TEST(Messages, OneThingIsNotCountedAsSeveral) {
  EXPECT_EQ(counted(1, "span") + " of " + counted(1, "process", "es"), "1 span of 1 process");
  EXPECT_EQ(counted(0, "span") + " of " + counted(2, "process", "es"), "0 spans of 2 processes");
  EXPECT_EQ(lost_text(0), "");
  EXPECT_EQ(lost_text(1), "; 1 was lost, see: xsp analyze audit");
  EXPECT_EQ(lost_text(2), "; 2 were lost, see: xsp analyze audit");
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
