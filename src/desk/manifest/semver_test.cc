#include "desk/manifest/semver.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "shared/base/testing.h"

namespace xsp::manifest {
namespace {

namespace fs = std::filesystem;

bool satisfies(const std::string& version, const std::string& constraint) {
  const auto parsed = Constraint::parse(constraint);
  EXPECT_TRUE(parsed.ok()) << constraint;
  return parsed.ok() && parsed->is_satisfied_by(parse_version(version).value());
}

TEST(Semver, ComparesVersions) {
  const std::vector<std::string> ordered = {
      "0.0.0",        "0.9.9",         "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",  "1.0.0",         "1.0.1",
      "1.9.0",        "1.10.0"};
  for (size_t i = 1; i < ordered.size(); ++i) {
    EXPECT_LT(*parse_version(ordered[i - 1]), *parse_version(ordered[i])) << ordered[i];
  }
  EXPECT_EQ(*parse_version("1.2.3+a"), *parse_version("v1.2.3+b"));
  for (const char* wrong : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+",
                            "1.2.x", "a.b.c", "1.2.99999999999999999999", "-1.2.3"}) {
    EXPECT_FALSE(parse_version(wrong)) << wrong;
  }
}

TEST(Semver, ConstraintsHaveTheirMeaning) {
  EXPECT_TRUE(satisfies("1.17.0", ">=1.17 <2"));
  EXPECT_TRUE(satisfies("1.31.1", ">= 1.17 < 2"));
  EXPECT_FALSE(satisfies("2.0.0", ">=1.17 <2"));
  EXPECT_FALSE(satisfies("2.0.0-rc.1", ">=1.17 <2"));
  EXPECT_TRUE(satisfies("2.0.0-rc.1", ">=2.0.0-alpha"));
  EXPECT_TRUE(satisfies("0.2.9", "^0.2.3"));
  EXPECT_FALSE(satisfies("0.3.0", "^0.2.3"));
  EXPECT_TRUE(satisfies("2.3.9", "1.2 - 2.3"));
  EXPECT_TRUE(satisfies("9.9.9", "1.x || *"));
}

TEST(Semver, ErrorsSayWhatWouldBeRight) {
  EXPECT_EQ(Constraint::parse(">=1,<2").error().text,
            "'>=1,<2' is no version with an operator: write a space instead of the comma");
  EXPECT_FALSE(Constraint::parse("==1.2.3").ok());
  EXPECT_FALSE(Constraint::parse(">=").ok());
  EXPECT_FALSE(Constraint::parse("1 - 2 - 3").ok());
  EXPECT_FALSE(Constraint::parse(std::string(300, '1')).ok());
}

TEST(Semver, ReadsFrameworksVersions) {
  EXPECT_EQ(parse_framework_version("2.13")->text(), "2.13.0");
  EXPECT_EQ(parse_framework_version("1.13.1+cu117")->text(), "1.13.1");
  EXPECT_EQ(parse_framework_version("2.1.0a0+gitunknown")->text(), "2.1.0-a0");
  EXPECT_EQ(parse_framework_version("4.6.0-dev")->text(), "4.6.0-dev");
  EXPECT_EQ(parse_framework_version("1.2.3.4")->text(), "1.2.3");
  EXPECT_FALSE(parse_framework_version("unknown"));
}

// Makes versions and constraints from few numbers, so that they meet.
class Made {
 public:
  explicit Made(uint64_t seed) : random_(seed) {}

  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  std::string suffix() {
    static const std::vector<std::string> kSuffixes = {"-0",    "-1",      "-alpha",  "-rc.1",
                                                       "-rc.2", "-a.b.10", "-beta-1", "+build.1"};
    return below(3) == 0 ? kSuffixes[below(kSuffixes.size())] : "";
  }
  std::string version() {
    return std::to_string(below(4)) + "." + std::to_string(below(4)) + "." +
           std::to_string(below(4)) + suffix();
  }
  std::string partial() {
    static const std::vector<std::string> kOpen = {"x", "X", "*"};
    if (below(2) == 0) return version();
    std::string text = below(12) == 0 ? kOpen[below(3)] : std::to_string(below(4));
    const size_t more = below(3);
    for (size_t i = 0; i < more; ++i) {
      text += "." + (below(4) == 0 ? kOpen[below(3)] : std::to_string(below(4)));
    }
    return (below(10) == 0 ? "v" : "") + text;
  }
  std::string alternative() {
    static const std::vector<std::string> kRelations = {"",  "=",  "<",   "<=", ">",  ">=", "^",
                                                        "~", "~>", ">= ", "^ ", "~ ", "< "};
    if (below(6) == 0) return partial() + " - " + partial();
    std::string text;
    for (size_t i = 0, count = 1 + below(3); i < count; ++i) {
      text += (i == 0 ? "" : " ") + kRelations[below(kRelations.size())] + partial();
    }
    return text;
  }
  std::string constraint() {
    std::string text = alternative();
    for (size_t i = below(3); i > 0; --i) text += " || " + alternative();
    return below(100) == 0 ? "" : text;
  }

 private:
  std::mt19937_64 random_;
};

// Asks npm's package about every pair: a line "VERSION<tab>CONSTRAINT" is answered by 1, 0, or
// "invalid".
constexpr const char* kOracle = R"js(
const semver = require(process.argv[2]);
for (const line of require('fs').readFileSync(0, 'utf8').split('\n').slice(0, -1)) {
  const [version, range] = line.split('\t');
  const valid = semver.validRange(range) !== null;
  console.log(!valid ? 'invalid' : semver.satisfies(version, range) ? '1' : '0');
}
)js";

TEST(Oracle, AgreesWithNpm) {
  std::string pattern = testing::TempDir() + "xsp_semver_XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  Made made(17);
  std::vector<std::pair<std::string, std::string>> pairs;
  for (uint64_t i = 0; i < random_cases(20000); ++i) {
    pairs.emplace_back(made.version(), made.constraint());
  }
  std::ofstream(folder / "oracle.js") << kOracle;
  {
    std::ofstream file(folder / "pairs");
    for (const auto& [version, constraint] : pairs) file << version << "\t" << constraint << "\n";
  }
  const std::string command = "node " + (folder / "oracle.js").string() +
                              " " XSP_SEMVER_ORACLE " <" + (folder / "pairs").string() + " >" +
                              (folder / "answers").string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream answers(folder / "answers");
  size_t satisfied = 0, wrong = 0;
  for (const auto& [version, constraint] : pairs) {
    std::string answer;
    ASSERT_TRUE(std::getline(answers, answer));
    const auto parsed = Constraint::parse(constraint);
    const std::string ours = !parsed.ok()                                              ? "invalid"
                             : parsed->is_satisfied_by(parse_version(version).value()) ? "1"
                                                                                       : "0";
    satisfied += ours == "1";
    if (ours != answer && ++wrong < 10) {
      ADD_FAILURE() << version << " of '" << constraint << "': npm says " << answer << ", not "
                    << ours;
    }
  }
  EXPECT_EQ(wrong, 0u);
  // The pairs must not all be of one kind.
  EXPECT_GT(satisfied, pairs.size() / 10);
  EXPECT_LT(satisfied, pairs.size() * 9 / 10);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace xsp::manifest
