// Tests the commands of the engines that run a task in a container.
#include "desk/sweep/container.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "shared/base/scratch.h"
#include "shared/base/words.h"

namespace xsp::sweep {
namespace {

namespace fs = std::filesystem;

class Container : public testing::Test {
 protected:
  void SetUp() override {
    auto made = ScratchFolder::create();
    ASSERT_TRUE(made.ok());
    folder_ = std::move(*made);
    ::setenv("PATH", folder_->path().c_str(), 1);
    ::unsetenv("XSP_CONTAINER_IMAGE");
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    ::unsetenv("XSP_CONTAINER_IMAGE");
  }
  void install(const std::string& engine) const {
    const fs::path file = folder_->path() / engine;
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, fs::perms(0755));
  }
  static std::string said(const std::string& image, const std::string& device) {
    const auto words = in_container({image, device, "/c/xsp", {"/opt/xsp"}, {"/out"}},
                                    {"/opt/xsp/bin/xsp", "profile", "m"});
    return words.ok() ? joined(*words, " ") : "error: " + words.error().text;
  }

  std::unique_ptr<ScratchFolder> folder_;
  const std::string path_ = std::getenv("PATH");
};

TEST_F(Container, PodmanComesBeforeDockerAndDockerBeforeApptainer) {
  EXPECT_EQ(said("net:1", "cpu"),
            "error: container 'net:1': no podman, docker or apptainer is in PATH: install one of "
            "them");
  install("apptainer");
  EXPECT_EQ(said("net:1", "cuda:0"),
            "apptainer exec --cleanenv --pwd=/ --nv --bind=/opt/xsp:/opt/xsp:ro --bind=/out:/out "
            "--env=XSP_CONTAINER_IMAGE=net:1 --env=XDG_CACHE_HOME=/c docker://net:1 "
            "/opt/xsp/bin/xsp profile m");
  EXPECT_NE(said("/images/net.sif", "cpu").find(" /images/net.sif /opt/xsp/bin/xsp"),
            std::string::npos);
  install("docker");
  EXPECT_EQ(said("net:1", "cuda"),
            "docker run --rm --network=host --workdir=/ --gpus=all --volume=/opt/xsp:/opt/xsp:ro "
            "--volume=/out:/out --env=XSP_CONTAINER_IMAGE=net:1 --env=XDG_CACHE_HOME=/c "
            "--entrypoint=/opt/xsp/bin/xsp net:1 profile m");
  install("podman");
  EXPECT_TRUE(said("net:1", "cpu")
                  .starts_with("podman run --rm --network=host --workdir=/ "
                               "--volume=/opt/xsp"));
}

TEST_F(Container, WhoIsInTheImageRunsTheTaskAtOnce) {
  install("podman");
  ::setenv("XSP_CONTAINER_IMAGE", "net:1", 1);
  EXPECT_EQ(said("net:1", "cpu"), "/opt/xsp/bin/xsp profile m");
  EXPECT_TRUE(said("net:2", "cpu").starts_with("podman run"));
}

}  // namespace
}  // namespace xsp::sweep
