// Tests the steps from one version of a catalogue to the next.
#include "desk/catalogue/schema.h"

#include <gtest/gtest.h>

#include "desk/analyze/catalogue.h"
#include "desk/catalogue/figures.h"

namespace xsp::catalogue {
namespace {

std::unique_ptr<Engine> empty_catalogue() {
  auto engine = open_engine(":memory:", false);
  EXPECT_TRUE(engine.ok()) << engine.error().text;
  return std::move(*engine);
}

TEST(Schema, IsMadeOnceAndThenLeftAlone) {
  const auto engine = empty_catalogue();
  EXPECT_FALSE(check_schema(*engine, "c.sqlite").ok());
  ASSERT_TRUE(migrate(*engine).ok());
  ASSERT_TRUE(engine->query("INSERT INTO model VALUES ($1, $2, NULL)", {"m 1", "m"}).ok());
  ASSERT_TRUE(migrate(*engine).ok());
  EXPECT_TRUE(check_schema(*engine, "c.sqlite").ok());
  EXPECT_EQ(version_of(*engine).value(), schema_version());
  EXPECT_EQ(engine->query("SELECT * FROM model")->rows.size(), 1u);
}

TEST(Schema, ACatalogueOfBeforeKeepsItsTasks) {
  const auto engine = empty_catalogue();
  ASSERT_TRUE(migrate(*engine).ok());
  for (const char* sql :
       {"ALTER TABLE task DROP COLUMN reason", "UPDATE catalogue SET version = 5",
        "INSERT INTO sweep(id, spec, state, created_at) VALUES ('s', '', 'open', '')",
        "INSERT INTO task(id, sweep, spec, state) VALUES ('s/t', 's', '', 'done')"}) {
    ASSERT_TRUE(engine->query(sql).ok()) << sql;
  }
  const Status refused = check_schema(*engine, "c.sqlite");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().text.ends_with("with xsp catalogue migrate --db c.sqlite"))
      << refused.error().text;
  EXPECT_EQ(check_schema(*engine, "postgresql://u:secret@h/d").error().text.find("secret"),
            std::string::npos);
  ASSERT_TRUE(migrate(*engine).ok());
  EXPECT_EQ(version_of(*engine).value(), schema_version());
  const auto tasks = engine->query("SELECT id FROM task WHERE reason IS NULL");
  ASSERT_TRUE(tasks.ok()) << tasks.error().text;
  EXPECT_EQ(tasks->rows.size(), 1u);
}

TEST(Schema, ANewerOneIsRefusedAndNotChanged) {
  const auto engine = empty_catalogue();
  ASSERT_TRUE(migrate(*engine).ok());
  ASSERT_TRUE(engine->query("UPDATE catalogue SET version = 99").ok());
  for (const Status& status : {migrate(*engine), check_schema(*engine, "c.sqlite")}) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().text.find("version 99 was made by a newer xsp"), std::string::npos);
  }
  EXPECT_EQ(version_of(*engine).value(), 99);
}

TEST(Schema, AMigrationThatFailsChangesNothing) {
  const auto engine = empty_catalogue();
  // A table of the last step is there already, so the step fails.
  ASSERT_TRUE(engine->query("CREATE TABLE result(a INTEGER)").ok());
  EXPECT_FALSE(migrate(*engine).ok());
  EXPECT_FALSE(engine->query("SELECT * FROM model").ok());
  EXPECT_EQ(engine->query("SELECT * FROM result")->columns.size(), 1u);
}

TEST(Figures, EachIsAColumnOfAnAnalysis) {
  ASSERT_GT(metric_sources().size(), 30u);
  for (const MetricSource& source : metric_sources()) {
    const auto analysis = analyze::find(source.analysis);
    ASSERT_TRUE(analysis.ok()) << source.analysis;
    bool is_found = false;
    for (const analyze::Column& column : (*analysis)->columns) {
      is_found = is_found || column.name == source.column;
    }
    EXPECT_TRUE(is_found) << source.metric << ": " << source.analysis << " has no "
                          << source.column;
  }
}

}  // namespace
}  // namespace xsp::catalogue
