// Tests what a sweep from the network may ask for.
#include "desk/sweep/foreign.h"

#include <gtest/gtest.h>

namespace xsp::sweep {
namespace {

std::string said(const std::string& more) {
  const CheckModel known = [](const std::string& model) -> Status {
    if (model == "m" || model == "n") return Ok{};
    return usage("'" + model + "': not known");
  };
  const Status status = check_foreign({"s.yaml", "name: s\n" + more}, known);
  return status.ok() ? "" : status.error().text;
}

TEST(Foreign, ASweepThatOnlyMeasuresIsTaken) {
  EXPECT_EQ(said("models: [m, n]\nframeworks: [onnxruntime]\ndevices: [cpu, 'cuda:0']\n"
                 "batches: [1, 8]\nlevels: [model, layer]\noptions: {max-time: 2, no-peaks: true}\n"
                 "scenarios: [profile, {name: server, rate: 50, bound: p99=9ms}]\n"
                 "reference: {model: n, every: 5}\nexclude: [{model: m, batch: 8}]\n"),
            "");
}

TEST(Foreign, WhatReachesBeyondMeasuringIsRefused) {
  EXPECT_NE(said("models: [x]\n").find("s.yaml:2: models[0]: 'x'"), std::string::npos);
  EXPECT_NE(said("models: [m]\nreference: {model: x}\n").find("s.yaml:3: reference.model: 'x'"),
            std::string::npos);
  for (const char* more :
       {"models: [./m]\n", "models: [/etc/passwd]\n", "models: [m, -o]\n", "models: ['m;id']\n",
        "models: [m]\nframeworks: [../a]\n", "models: [m]\nsystems: all\n",
        "models: [m]\ncontainer: image\n",
        "models: [m]\nexecutors: {ssh: {hosts: [h], options: [-oProxyCommand=id]}}\n",
        "models: [m]\noptions: {option: library=x.so}\n", "models: [m]\noptions: {o: x.xsp}\n",
        "models: [m]\noptions: {max-time: /dev/null}\n",
        "models: [m]\nscenarios: [{name: server, data: d}]\n",
        "models: [m]\nscenarios: [{name: replay, lengths: l.csv}]\n", "models: []\n", "models: m\n",
        "nonsense\n", "models: [m]\nunknown: 1\n"}) {
    EXPECT_TRUE(said(more).starts_with("s.yaml:")) << more << ": " << said(more);
  }
}

}  // namespace
}  // namespace xsp::sweep
