#include "desk/divergence/pair.h"

#include <algorithm>
#include <fstream>

#include "pipelines/shared/value.h"
#include "process/worker/npy.h"
#include "process/worker/protocol.h"
#include "xsp/plugin.hpp"

namespace xsp::divergence {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kSides = {"a", "b"};

// Returns the error with the side's letter in front.
Error of_side(size_t side, const Error& error) {
  return {error.code, (side == 0 ? "A: " : "B: ") + error.text};
}

std::vector<double> numbers_of(process::NpyArray array) {
  const pipelines::Value value{
      pipelines::tensor_type(array.dtype, array.dimensions), std::move(array.data), {}};
  const auto count = static_cast<size_t>(pipelines::element_count(array.dimensions));
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = pipelines::number_at(value, i);
  return numbers;
}

Status add_difference(const fs::path& file_a, const fs::path& file_b, const std::string& inputs,
                      Compared* tensor) {
  XSP_TRY(process::NpyArray a, process::read_npy(file_a));
  XSP_TRY(process::NpyArray b, process::read_npy(file_b));
  tensor->dtype = dtype_name(a.dtype);
  tensor->dtype_b = dtype_name(b.dtype);
  if (a.dimensions != b.dimensions) {
    tensor->not_compared = "its shape is " + pipelines::dimensions_text(a.dimensions) +
                           " in A and " + pipelines::dimensions_text(b.dimensions) + " in B";
    return Ok{};
  }
  const int64_t last = a.dimensions.empty() ? 1 : a.dimensions.back();
  const double before = tensor->difference.max_absolute();
  tensor->difference.add(numbers_of(std::move(a)), numbers_of(std::move(b)), last);
  if (tensor->difference.max_absolute() > before) tensor->worst = inputs;
  return Ok{};
}

}  // namespace

Result<std::unique_ptr<Pair>> Pair::open(const Settings& settings,
                                         const std::array<std::string, 2>& models,
                                         const fs::path& folder, const std::atomic<int>& stop) {
  std::unique_ptr<Pair> pair(new Pair(folder));
  for (size_t side = 0; side < 2; ++side) {
    const experiment::Request& request = settings.sides[side];
    experiment::WorkerOptions options = request.worker;
    options.model = models[side];
    options.trace = folder / (std::string(kSides[side]) + ".xtrace");
    options.scratch = folder / kSides[side];
    std::error_code error;
    fs::create_directories(options.scratch / "saved", error);
    auto worker = experiment::Worker::start(options, request.worker_limits, stop);
    if (!worker.ok()) return of_side(side, worker.error());
    pair->workers_[side] = std::move(*worker);
    XSP_CHECK_OK(pair->name_outputs(side));
  }
  return pair;
}

Status Pair::name_outputs(size_t side) {
  experiment::Worker& worker = *workers_[side];
  for (const auto& output : worker.ready().outputs) names_[side].push_back(output.name);
  if (!names_[side].empty()) return Ok{};
  const auto block = worker.run(1, 0);
  if (!block.ok()) return of_side(side, block.error());
  XSP_TRY(const std::vector<fs::path> files, worker.save_results(folder_ / kSides[side] / "saved"));
  for (size_t i = 0; i < files.size(); ++i) {
    names_[side].push_back("output " + std::to_string(i));
    std::error_code ignored;
    fs::remove(files[i], ignored);
  }
  return Ok{};
}

Status Pair::compare(const Settings& settings, std::vector<Compared>* tensors) {
  for (int set = 0; set < settings.sets && settings.items.empty(); ++set) {
    const uint64_t seed = settings.sides[0].worker.seed + static_cast<uint64_t>(set);
    XSP_TRY(const Files inputs, workers_[0]->make_inputs(seed, folder_));
    XSP_CHECK_OK(compare_set(inputs, "set " + std::to_string(set + 1), tensors));
  }
  const fs::path list = folder_ / "items", made = folder_ / "made";
  for (size_t first = 0; first < settings.items.size(); first += settings.batch) {
    const size_t count = std::min(settings.batch, settings.items.size() - first);
    std::ofstream file(list);
    for (size_t i = first; i < first + count; ++i) {
      file << process::join_fields({settings.items[i]}) << '\n';
    }
    file.close();
    if (!file) return failed(list.string() + ": cannot be written: make room for it");
    const auto sets = workers_[0]->make_inputs_of_items(list, made);
    if (!sets.ok()) return of_side(0, sets.error());
    for (const Files& inputs : *sets) {
      XSP_CHECK_OK(compare_set(inputs, settings.items[first], tensors));
    }
    std::error_code ignored;
    fs::remove_all(made, ignored);
  }
  return Ok{};
}

Status Pair::compare_set(const Files& inputs, const std::string& name,
                         std::vector<Compared>* tensors) {
  std::array<Files, 2> results;
  for (size_t side = 0; side < 2; ++side) {
    experiment::Worker& worker = *workers_[side];
    const Status taken = worker.take_inputs(inputs);
    if (!taken.ok()) return of_side(side, taken.error());
    const auto block = worker.run(1, 0);
    if (!block.ok()) return of_side(side, block.error());
    XSP_TRY(results[side], worker.save_results(folder_ / kSides[side] / "saved"));
    if (results[side].size() != outputs(side).size()) {
      return of_side(side, failed("it gave " + std::to_string(results[side].size()) + " of its " +
                                  std::to_string(outputs(side).size()) + " outputs"));
    }
  }
  const auto file_of = [&](size_t side, const std::string& output) {
    const std::vector<std::string> names = outputs(side);
    return results[side][static_cast<size_t>(std::find(names.begin(), names.end(), output) -
                                             names.begin())];
  };
  for (Compared& tensor : *tensors) {
    if (!tensor.not_compared.empty()) continue;
    XSP_CHECK_OK(
        add_difference(file_of(0, tensor.tensor), file_of(1, tensor.tensor_b), name, &tensor));
  }
  return Ok{};
}

Status Pair::finish() {
  for (const auto& worker : workers_) XSP_CHECK_OK(worker->finish());
  return Ok{};
}

}  // namespace xsp::divergence
