// Tests the level library: calls of the libraries below the framework, in unchanged programs. These
// tests use BLAS and oneDNN, as Debian's packages call them. The same generator wraps the GPU's
// libraries, which are tested on machines with a GPU (tests/gpu).
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/integration/packages.h"
#include "tests/integration/run_xsp.h"
#include "tests/places.h"

namespace xsp::integration {
namespace {

constexpr const char* kInferences =
    "#include <cblas.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int main(void) {\n"
    "  static float a[6] = {1, 2, 3, 4, 5, 6}, b[12], c[8];\n"
    "  static double d[1] = {2}, e[1] = {3}, f[1];\n"
    "  for (int i = 0; i < 12; ++i) b[i] = i;\n"
    "  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 2, 4, 3, 1.f, a, 3, b, 3, 0.f, c, 4);\n"
    "  for (int i = 0; i < 3; ++i)\n"
    "    cblas_dgemv(CblasColMajor, CblasNoTrans, 1, 1, 1., d, 1, e, 1, 0., f, 1);\n"
    "  const char* preload = getenv(\"LD_PRELOAD\");\n"
    "  printf(\"%g %g %g %s\\n\", c[0], c[7], f[0], preload ? preload : \"\");\n"
    "}\n";

class LibraryTest : public WatchedTest {
 protected:
  void build_program() const {
    write_file("blas.c", kInferences);
    const std::string path = (folder / "blas").string();
    ASSERT_EQ(std::system(("cc -o " + path + " " + path + ".c -lblas").c_str()), 0);
  }
  Finished watch(const std::string& levels, const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {"run", "--levels", levels, "-o", "t.xsp", "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run(arguments);
  }
  // Returns the outermost calls of the level: function, library, calls, and the requested facts.
  nlohmann::json calls(const std::vector<std::string>& keys, const std::string& where) const {
    std::string columns;
    for (const std::string& key : keys) {
      columns += ", max(a.value) FILTER (a.key = '" + key + "') AS " + key;
    }
    return query("t.xsp",
                 "WITH call AS (SELECT s.span_id, s.name, s.type, any_value(l.name) AS layer" +
                     columns +
                     " FROM span s JOIN attribute a USING (span_id) "
                     "LEFT JOIN span l ON l.span_id = s.layer_id WHERE s.level = 4 AND " +
                     where +
                     " GROUP BY s.span_id, s.name, s.type) SELECT * EXCLUDE (span_id), count(*) AS "
                     "calls FROM call GROUP BY ALL ORDER BY ALL");
  }
};

TEST_F(LibraryTest, ACallOfBlasIsASpanWithItsProblem) {
  build_program();
  const Finished finished = watch("application,library", {"./blas"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out.rfind("8 152 6 ", 0), 0u) << finished.out;
  const auto found = calls(
      {"dtype", "layout", "transa", "transb", "m", "n", "k", "lda", "ldb", "ldc"}, "s.depth = 0");
  ASSERT_EQ(found.size(), 2u) << found;
  EXPECT_EQ(found[0]["name"], "cblas_dgemv");
  EXPECT_EQ(found[0]["calls"], 3);
  EXPECT_EQ(found[0]["dtype"], "float64");
  EXPECT_EQ(found[0]["layout"], "ColMajor");
  const auto& product = found[1];
  EXPECT_EQ(product["name"], "cblas_sgemm");
  EXPECT_EQ(product["type"], "blas");
  EXPECT_EQ(product["calls"], 1);
  const std::pair<const char*, const char*> kWanted[] = {{"dtype", "float32"},
                                                         {"layout", "RowMajor"},
                                                         {"transa", "NoTrans"},
                                                         {"transb", "Trans"},
                                                         {"m", "2"},
                                                         {"n", "4"},
                                                         {"k", "3"},
                                                         {"lda", "3"},
                                                         {"ldb", "3"},
                                                         {"ldc", "4"}};
  for (const auto& [key, value] : kWanted) EXPECT_EQ(product[key], value) << key;
}

TEST_F(LibraryTest, NothingIsPreloadedForItUnlessAskedFor) {
  build_program();
  const Finished finished = watch("application,model,layer", {"./blas"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_NE(finished.out.find("libxsp-attach.so"), std::string::npos) << finished.out;
  EXPECT_EQ(finished.out.find("library_calls"), std::string::npos) << finished.out;
  EXPECT_EQ(scalar("t.xsp", "SELECT count(*) FROM span WHERE level = 4"), 0);
}

TEST_F(LibraryTest, TheProductOfALinearLayerIsUnderIt) {
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) {
    GTEST_SKIP() << kPython << " has no torch";
  }
  write_file(
      "infer.py",
      "import numpy, torch\n"
      "net = torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.Unflatten(1, (6, 4, 4)),\n"
      "                          torch.nn.Conv2d(6, 8, 3))\n"
      "with torch.no_grad():\n"
      "    for _ in range(5): net(torch.ones(32, 48))\n"
      "print((numpy.ones((3, 5)) @ numpy.ones((5, 7))).sum())\n");
  const Finished finished = watch("application,model,layer,library", {kPython, "infer.py"});
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "105.0\n");
  const auto layers = calls({"m", "n", "k", "dtype"}, "s.type = 'blas' AND s.layer_id IS NOT NULL");
  ASSERT_EQ(layers.size(), 1u) << layers;
  EXPECT_EQ(layers[0]["layer"], "0/addmm");
  EXPECT_EQ(layers[0]["name"], "sgemm_");
  EXPECT_EQ(layers[0]["calls"], 5);
  // Fortran's matrices are stored by column: the product is computed transposed.
  EXPECT_EQ(layers[0]["m"], "96");
  EXPECT_EQ(layers[0]["n"], "32");
  EXPECT_EQ(layers[0]["k"], "48");
  const auto convolutions = calls({"src_shape", "weights_shape", "dst_shape", "src_dtype"},
                                  "s.type = 'onednn' AND s.span_id IN (SELECT span_id FROM "
                                  "attribute WHERE value = 'convolution')");
  ASSERT_EQ(convolutions.size(), 1u) << convolutions;
  EXPECT_EQ(convolutions[0]["calls"], 5);
  EXPECT_EQ(convolutions[0]["src_shape"], "[32,6,4,4]");
  EXPECT_EQ(convolutions[0]["weights_shape"], "[8,6,3,3]");
  EXPECT_EQ(convolutions[0]["dst_shape"], "[32,8,2,2]");
  EXPECT_EQ(convolutions[0]["src_dtype"], "float32");
  EXPECT_EQ(convolutions[0]["layer"].get<std::string>().rfind("2/", 0), 0u) << convolutions;
  const auto numpy = calls({"m", "n", "k", "dtype"}, "s.depth = 0 AND s.name = 'cblas_dgemm'");
  ASSERT_EQ(numpy.size(), 1u) << numpy;
  EXPECT_EQ(numpy[0]["m"], "3");
  EXPECT_EQ(numpy[0]["n"], "7");
  EXPECT_EQ(numpy[0]["k"], "5");
  EXPECT_EQ(numpy[0]["dtype"], "float64");
}

// NumPy and SciPy from PyPI have OpenBLAS in them, by other names; NumPy's has 64-bit integers.
TEST_F(LibraryTest, ProductsOfNumpyAndScipyFromPypiAreSpans) {
  const std::string packages = packages_of("jax");
  if (!std::filesystem::exists(packages)) GTEST_SKIP() << "no NumPy in " << packages;
  write_file("multiply.py",
             "import numpy\n"
             "from scipy.linalg import blas\n"
             "a, b = numpy.ones((6, 8)), numpy.ones((8, 4))\n"
             "for _ in range(3): c = a @ b\n"
             "d = blas.sgemm(1.0, a.astype('float32'), b.astype('float32'))\n"
             "print(c.sum(), d.sum())\n");
  RunOptions options;
  options.environment = {{"PYTHONPATH", packages}};
  const Finished finished = run({"run", "--leveled=no", "--levels", "application,library", "-o",
                                 "t.xsp", "--", kPython, "multiply.py"},
                                options);
  ASSERT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.out, "192.0 192.0\n");
  const auto all = calls({"m", "n", "k", "dtype"}, "s.depth = 0 AND s.name LIKE '%gemm%'");
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[0]["name"], "scipy_cblas_dgemm64_");
  EXPECT_EQ(all[0]["dtype"], "float64");
  EXPECT_EQ(all[0]["calls"], 3);
  EXPECT_EQ(all[1]["name"], "scipy_sgemm_");
  EXPECT_EQ(all[1]["dtype"], "float32");
  for (const auto& one : all) {
    EXPECT_EQ(one["m"], "6") << one;
    EXPECT_EQ(one["n"], "4") << one;
    EXPECT_EQ(one["k"], "8") << one;
  }
}

// MXNet's library contains a copy of oneDNN, whose calls no wrapper reaches.
TEST_F(LibraryTest, PrimitivesOfAOnednnThatIsLinkedInAreSpans) {
  const std::string model = places::source("tests/data/mxnet/tiny-symbol.json");
  const Finished finished = run({"profile", model, "--levels", "layer,library", "--max-time", "2",
                                 "--no-peaks", "-o", "t.xsp"});
  if (finished.status == 4) GTEST_SKIP() << "skipped: MXNet is not installed";
  ASSERT_EQ(finished.status, 0) << finished.err;
  // MXNet fused this layer from a convolution and the operators behind it.
  EXPECT_EQ(scalar("t.xsp",
                   "SELECT string_agg(DISTINCT p.type, ',') FROM span s JOIN span p ON p.run_id = "
                   "s.run_id AND p.span_id = s.parent_id WHERE s.level = 4 AND s.type = 'onednn' "
                   "AND s.name = 'convolution'"),
            "_sg_mkldnn_conv");
  const auto runs =
      query("t.xsp",
            "SELECT DISTINCT count(*) FILTER (s.name = 'convolution') AS n FROM span "
            "s WHERE s.level = 4 AND s.iteration >= 0 GROUP BY s.run_id, s.iteration");
  ASSERT_EQ(runs.size(), 1u) << runs;
  EXPECT_EQ(runs[0]["n"], 1);
}

}  // namespace
}  // namespace xsp::integration
