// make_files FOLDER: writes the TorchScript files beside this. Run by hand, when they are
// to change:
//
//   g++ -std=c++20 tests/data/torch/{make_files,twice}.cc -o make_files -ltorch_cpu -lc10 &&
//   ./make_files tests/data/torch
#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>

#include <string>

using torch::jit::Module;

namespace {

Module module(const char* name) {
  return Module(name, std::make_shared<torch::jit::CompilationUnit>());
}

at::Tensor weights(c10::IntArrayRef shape) {
  const at::Tensor values = at::arange(c10::multiply_integers(shape), at::kFloat).reshape(shape);
  return at::mul(at::cos(values), 0.1);
}

Module convolution(int64_t from, int64_t to) {
  Module made = module("Convolution");
  made.register_parameter("weight", weights({to, from, 3, 3}), false);
  made.define(
      "def forward(self, x):\n  return torch.conv2d(x, self.weight, None, [1, 1], [1, 1])\n");
  return made;
}

Module block(int64_t from, int64_t to) {
  Module made = module("Block");
  made.register_module("conv1", convolution(from, to));
  made.register_module("conv2", convolution(to, to));
  made.define(
      "def forward(self, x):\n"
      "  y = torch.relu(self.conv1.forward(x))\n"
      "  return torch.relu(self.conv2.forward(y) + y)\n");
  return made;
}

Module tiny() {
  Module made = module("Tiny");
  made.register_module("layer1", block(3, 4));
  made.register_module("layer2", block(4, 8));
  made.register_parameter("weight", weights({10, 8}), false);
  made.define(
      "def forward(self, image):\n"
      "  y = self.layer2.forward(self.layer1.forward(image))\n"
      "  return torch.matmul(torch.mean(y, [2, 3]), torch.t(self.weight))\n");
  return made;
}

// What it does depends on its input's values, and it gives a dictionary.
Module branching() {
  Module made = module("Branching");
  made.define(
      "def forward(self, x):\n"
      "  if bool(torch.gt(torch.sum(x), 0)):\n"
      "    y = torch.sin(x)\n"
      "  else:\n"
      "    y = torch.cos(torch.neg(x))\n"
      "  return {'first': y, 'second': torch.mul(x, 2)}\n");
  return made;
}

// Within a module, a function of the same module: as torch's own Conv2d does it.
Module calling() {
  Module inner = module("Inner");
  inner.define(
      "def forward(self, x):\n  return self.work(x)\n"
      "def work(self, x):\n  return torch.sin(x)\n");
  Module made = module("Calling");
  made.register_module("inner", inner);
  made.define("def forward(self, x):\n  return self.inner.forward(x)\n");
  return made;
}

// A list of modules, which is called by nobody.
Module listing() {
  Module list = module("List");
  list.register_module("0", calling());
  list.register_module("1", calling());
  Module made = module("Listing");
  made.register_module("layer", list);
  made.define("def forward(self, x):\n  return getattr(self.layer, '1').forward(x)\n");
  return made;
}

Module failing() {
  Module made = module("Failing");
  made.define("def forward(self, x):\n  return torch.matmul(x, x)\n");
  return made;
}

Module hungry() {
  Module made = module("Hungry");
  made.define("def forward(self, x):\n  return torch.zeros([1 << 30, 1 << 30]) + x\n");
  return made;
}

struct OwnOperators : public torch::jit::NativeResolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(
      const std::string& name, torch::jit::GraphFunction& method,
      const torch::jit::SourceRange& where) override {
    if (name == "xsp_test") return std::make_shared<torch::jit::BuiltinModule>(name);
    return NativeResolver::resolveValue(name, method, where);
  }
};

// Calls an operator of a library of its own: twice.cc.
Module custom() {
  Module made = module("Custom");
  made.define("def forward(self, x):\n  return torch.sin(xsp_test.twice(x))\n",
              std::make_shared<OwnOperators>());
  return made;
}

// A language model whose logits follow from each token alone, and whose cache grows by the
// embedding of each token, once as a key and once as a value.
Module generating() {
  Module made = module("Generating");
  made.register_parameter("table", weights({100, 4}), false);
  made.define(
      "def forward(self, input_ids, key, value):\n"
      "  x = torch.embedding(self.table, input_ids)\n"
      "  new = torch.unsqueeze(x, 1)\n"
      "  logits = torch.matmul(x, torch.t(self.table))\n"
      "  return logits, torch.cat([key, new], 2), torch.cat([value, new], 2)\n");
  return made;
}

void save(const Module& module, const std::string& path, const std::string& signature) {
  torch::jit::ExtraFilesMap extra;
  if (!signature.empty()) extra["signature"] = signature;
  module.save(path, extra);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  save(tiny(), folder + "tiny.pt", "input\timage\tfloat32\tbatch,3,8,8\n");
  save(tiny(), folder + "unsigned.pt", "");
  save(tiny(), folder + "bad_signature.pt", "input\timage\tfloat33\tbatch,3,8,8\n");
  save(branching(), folder + "branching.pt", "input x float32 batch,4");
  save(calling(), folder + "calling.pt", "input x float32 batch,4");
  save(listing(), folder + "listing.pt", "input x float32 batch,4");
  save(failing(), folder + "failing.pt", "input x float32 batch,3");
  save(hungry(), folder + "hungry.pt", "input x float32 batch");
  save(custom(), folder + "custom.pt", "input x float32 batch,4");
  save(generating(), folder + "generating.pt",
       "input input_ids int64 batch,sequence\n"
       "input past_key_values.0.key float32 batch,1,past_sequence,4\n"
       "input past_key_values.0.value float32 batch,1,past_sequence,4\n"
       "output logits float32 batch,sequence,100\n"
       "output present.0.key float32 batch,1,all,4\n"
       "output present.0.value float32 batch,1,all,4\n");
  return 0;
}
