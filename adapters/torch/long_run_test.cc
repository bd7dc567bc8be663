#include "adapters/torch/long_run.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace xsp::torch_adapter {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;

xsp_host host_of(void* context, void (*note)(void*, const char*)) {
  xsp_host host{};
  host.struct_size = sizeof host;
  host.context = context;
  host.note = note;
  return host;
}

TEST(LongRunNote, ALongRunIsToldWhileItLasts) {
  std::promise<std::string> told;
  const xsp_host host = host_of(&told, [](void* context, const char* text) {
    static_cast<std::promise<std::string>*>(context)->set_value(text);
  });
  const LongRunNote note(&host, "it takes long", 1ms);
  EXPECT_EQ(told.get_future().get(), "it takes long");
}

TEST(LongRunNote, AShortRunIsNot) {
  std::vector<std::string> told;
  const xsp_host host = host_of(&told, [](void* context, const char* text) {
    static_cast<std::vector<std::string>*>(context)->push_back(text);
  });
  { const LongRunNote note(&host, "it takes long", 1h); }
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace xsp::torch_adapter
