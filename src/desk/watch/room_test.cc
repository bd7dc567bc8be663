#include "desk/watch/room.h"

#include <gtest/gtest.h>

#include "xsp/xsp.h"

namespace xsp::watch {
namespace {

TEST(AttachRoom, SaysWhatIsMissingFromWhenOn) {
  TraceRoom room;
  room.bytes_max = 1'500'000;
  EXPECT_EQ(note_of_room(room), "");
  room.given_up = {{XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL), 12.34},
                   {XSP_LEVEL_BIT(XSP_LEVEL_LAYER), 60}};
  room.left_out = 2;
  const std::string note = note_of_room(room);
  EXPECT_EQ(note.rfind("the traces came near their limit of 1.5 MB: not recorded are api,kernel "
                       "from 12.3 s on, layer from 60.0 s on; 2 processes were not recorded: ",
                       0),
            0u)
      << note;
}

TEST(AttachRoom, RunsOfLevelsThatWereGivenUpAreMarked) {
  Result<store::Database> database = store::Database::in_memory();
  ASSERT_TRUE(database.ok());
  const char* const kRuns =
      "INSERT INTO run(run_id, levels, status, stopped_by) VALUES "
      "(1, 'application,model', 'ok', 'end'), (2, 'application,model,layer', 'ok', 'end'), "
      "(3, 'application,model,layer,api', 'ok', 'end')";
  ASSERT_TRUE(database->execute(kRuns).ok());
  TraceRoom room;
  room.given_up = {{XSP_LEVEL_BIT(XSP_LEVEL_LAYER), 1}};
  ASSERT_TRUE(mark_runs_without_room(*database, room).ok());
  const auto table = database->query("SELECT string_agg(stopped_by, ' ' ORDER BY run_id) FROM run");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(std::get<std::string>(table->rows[0][0]), "end size size");
}

}  // namespace
}  // namespace xsp::watch
