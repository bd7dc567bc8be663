// Tests xsp site: its pages are complete, and names from files cannot leave its folder or its text.

#include <fstream>
#include <sstream>

#include "desk/store/database.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;

class SiteTest : public XspTest {
 protected:
  void make(const std::string& name, const std::string& model, const std::string& change = "",
            const std::string& fixture = "small.sql") const {
    auto database = store::Database::create(folder / name);
    ASSERT_TRUE(database.ok()) << database.error().text;
    std::ifstream file(places::source("tests/data/" + fixture));
    std::ostringstream sql;
    sql << file.rdbuf();
    ASSERT_TRUE(database->execute(sql.str()).ok());
    ASSERT_TRUE(
        database
            ->query("UPDATE evaluation SET value = $model WHERE key = 'model'", {{"model", model}})
            .ok());
    ASSERT_TRUE(change.empty() || database->execute(change).ok());
    ASSERT_TRUE(database->finish().ok());
  }
  static std::string table(const std::string& page, const std::string& id) {
    const size_t from = page.find("<table id=\"" + id + "\"");
    return from == std::string::npos ? "" : page.substr(from, page.find("</table>", from) - from);
  }
  std::string text(const std::string& name) const {
    std::ifstream file(folder / name);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
};

TEST_F(SiteTest, ShowsEachLoadOfAModelAndWhatTellsItApart) {
  fs::create_directory(folder / "results");
  for (const std::string rate : {"50", "80"}) {
    make("results/" + rate + ".xsp", "small",
         "INSERT INTO evaluation VALUES ('scenario', 'server'), ('scenario.max_batch', '1'), "
         "('scenario.rate_per_s', '" +
             rate + "'); INSERT INTO result BY NAME SELECT 'rate' AS metric, CAST(" + rate +
             " AS DOUBLE) AS value, 'per_s' AS unit;");
  }
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  const std::string loads = table(text("site/loads.html"), "load-table");
  for (const char* name : {"server, rate per s 50", "server, rate per s 80"}) {
    EXPECT_NE(loads.find(name), std::string::npos) << name << loads;
    EXPECT_NE(text("site/models/small.html").find(name), std::string::npos) << name;
  }
  EXPECT_EQ(loads.find("max batch"), std::string::npos) << "it is the same for both";
}

TEST_F(SiteTest, HasAPageForEachModelAndSystem) {
  fs::create_directory(folder / "results");
  make("results/a.xsp", "small");
  make("results/b.xsp", "../../<script>alert(1)</script>");
  const Finished written = run({"site", "results", "-o", "site"});
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_NE(written.err.find("wrote site: 8 pages of 4 evaluations"), std::string::npos)
      << written.err;
  const std::string index = text("site/index.html");
  EXPECT_NE(index.find("href=\"models/small.html\""), std::string::npos);
  EXPECT_NE(index.find("1.025 ms"), std::string::npos);  // as model_information shows it
  EXPECT_NE(index.find("not measured"), std::string::npos);
  EXPECT_EQ(index.find("<script>alert"), std::string::npos);
  EXPECT_NE(index.find("&lt;script&gt;alert"), std::string::npos);
  size_t models = 0;
  for (const auto& file : fs::directory_iterator(folder / "site/models")) {
    ++models;
    EXPECT_EQ(text("site/models/" + file.path().filename().string()).find("<script>alert"),
              std::string::npos);
  }
  EXPECT_EQ(models, 2u);
}

// Each page over all models leads to the others, and marks itself.
TEST_F(SiteTest, HasAPageForEachQuestionOverAllModels) {
  fs::create_directory(folder / "results");
  make("results/a.xsp", "small");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  const std::vector<std::string> pages = {"index.html", "batches.html", "frameworks.html",
                                          "energy.html", "loads.html"};
  for (const std::string& page : pages) {
    const std::string html = text("site/" + page);
    for (const std::string& other : pages) {
      EXPECT_NE(html.find("<a href=\"" + other + "\""), std::string::npos) << page << other;
    }
    EXPECT_NE(html.find("<a href=\"" + page + "\" aria-current=\"page\""), std::string::npos)
        << page;
  }
  EXPECT_NE(text("site/models/small.html").find("<a href=\"../batches.html\""), std::string::npos);
}

TEST_F(SiteTest, OfNothingSaysSoOnEachPageThatItLinksTo) {
  fs::create_directory(folder / "results");
  const Finished written = run({"site", "results", "-o", "site"});
  ASSERT_EQ(written.status, 0) << written.err;
  for (const char* page : {"index", "batches", "frameworks", "energy", "loads"}) {
    const std::string html = text("site/" + std::string(page) + ".html");
    EXPECT_NE(html.find("No evaluation is known."), std::string::npos) << page;
  }
}

TEST_F(SiteTest, SaysOnceWhatAllHaveInCommon) {
  fs::create_directory(folder / "results");
  make("results/a.xsp", "small");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  std::string index = text("site/index.html");
  EXPECT_NE(index.find("All figures were measured with fake"), std::string::npos);
  EXPECT_EQ(table(index, "models-table").find(">framework<"), std::string::npos);
  make("results/b.xsp", "small",
       "UPDATE evaluation SET value = 'other' WHERE key = 'framework';"
       "UPDATE run SET framework = 'other';");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  index = text("site/index.html");
  EXPECT_EQ(index.find("measured with"), std::string::npos);
  EXPECT_NE(table(index, "models-table").find(">framework<"), std::string::npos);
}

// Of the two evaluations of `fake`, one has the inputs of `other`, and one those of `third`.
TEST_F(SiteTest, NamesTheFilesOfLatenciesThatDifferInOneTable) {
  fs::create_directory(folder / "results");
  const auto change = [](const std::string& framework, const std::string& shape) {
    return "UPDATE evaluation SET value = '" + framework +
           "' WHERE key = 'framework'; "
           "UPDATE run SET framework = '" +
           framework +
           "'; "
           "INSERT INTO evaluation VALUES ('input.extra', 'float32[" +
           shape + "]');";
  };
  make("results/one.xsp", "small", change("fake", "1"));
  make("results/two.xsp", "small", change("fake", "2"));
  make("results/other.xsp", "small", change("other", "1"));
  make("results/third.xsp", "small", change("third", "2"));
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  const std::string pairs = table(text("site/frameworks.html"), "frameworks-table");
  for (const char* file : {"one.<wbr>xsp", "two.<wbr>xsp"}) {
    EXPECT_NE(pairs.find(file), std::string::npos) << file << pairs;
  }
  EXPECT_EQ(pairs.find("other.<wbr>xsp"), std::string::npos) << "it is the only one: " << pairs;
}

// At batch size 4 only the latency was measured, at 2 the kernels, too.
TEST_F(SiteTest, TellsTheWorkOfTheLargestBatchWithKernels) {
  fs::create_directory(folder / "results");
  make("results/deep.xsp", "three", "", "gpu.sql");
  make("results/wide.xsp", "three", "DELETE FROM run WHERE run_id <> 5; UPDATE run SET batch = 4;",
       "gpu.sql");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  const std::string work = table(text("site/index.html"), "kernels-table");
  EXPECT_NE(work.find(">2</td>"), std::string::npos) << work;
  EXPECT_EQ(work.find(">4</td>"), std::string::npos) << work;
  // Without kernels or layers, the bottleneck is not an unknown one: nobody measured it.
  EXPECT_EQ(text("site/models/three.html").find("unknown"), std::string::npos);
}

// A gain of two doubtful throughputs is doubtful, and so are a ratio and the best batch size.
TEST_F(SiteTest, WhatFollowsFromADoubtfulFigureIsDoubtful) {
  fs::create_directory(folder / "results");
  make("results/a.xsp", "small", "UPDATE run SET stopped_by = 'time'");
  make("results/b.xsp", "small",
       "UPDATE evaluation SET value = 'other' WHERE key = 'framework';"
       "UPDATE run SET stopped_by = 'time'");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  const auto doubts = [this](const char* page, const char* id) {
    const std::string part = table(text("site/" + std::string(page) + ".html"), id);
    size_t count = 0;
    for (size_t at = 0; (at = part.find("class=\"doubt\"", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(doubts("index", "models-table"), 2u * 3u);           // latency, throughput, best batch
  EXPECT_EQ(doubts("batches", "batch-table"), 2u * 2u);          // of two subjects, two sizes
  EXPECT_EQ(doubts("frameworks", "frameworks-table"), 2u * 4u);  // two latencies and two ratios
}

TEST_F(SiteTest, ReplacesItsOwnPagesAndNoOthers) {
  fs::create_directory(folder / "results");
  make("results/a.xsp", "small");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  fs::remove(folder / "results/a.xsp");
  make("results/a.xsp", "other");
  ASSERT_EQ(run({"site", "results", "-o", "site"}).status, 0);
  EXPECT_FALSE(fs::exists(folder / "site/models/small.html"));
  EXPECT_TRUE(fs::exists(folder / "site/models/other.html"));
  const Finished refused = run({"site", "results", "-o", "results"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(error_lines(refused), 1) << refused.err;
  EXPECT_TRUE(fs::exists(folder / "results/a.xsp"));
}

TEST_F(SiteTest, SaysWhatIsMissing) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"site", "-o", "site"},
                                             {"site", "nothing", "-o", "site"},
                                             {"site", "--db", "nothing.sqlite", "-o", "site"}}) {
    const Finished finished = run(words);
    EXPECT_NE(finished.status, 0);
    EXPECT_EQ(error_lines(finished), 1) << finished.err;
  }
  EXPECT_FALSE(fs::exists(folder / "site"));
}

}  // namespace
}  // namespace xsp::integration
