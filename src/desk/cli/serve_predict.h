// Lets models answer the uploads of `xsp serve`, each in a process of its own.
#ifndef XSP_DESK_CLI_SERVE_PREDICT_H_
#define XSP_DESK_CLI_SERVE_PREDICT_H_

#include <atomic>
#include <optional>

#include "desk/serve/services.h"
#include "executors/shared/executor.h"

namespace xsp::cli {

// The engine that reaches other machines.
struct Elsewhere {
  executors::Executor executor;  // has `through`
  executors::Settings settings;
};

// Returns a function that runs `xsp predict` for a model of `xsp models --list`. It refuses
// manifests with steps in Python, and gives a model 60 seconds. On another machine the model of
// that name runs there. A `stop` that is not 0 ends what runs; it must outlive the function.
serve::Predict make_predict(const std::atomic<int>& stop, std::optional<Elsewhere> elsewhere);

// Returns a function that names the machines of the engine.
serve::PredictionSystems make_systems(Elsewhere elsewhere);

// Returns the models that may answer, ordered by name.
std::vector<serve::PredictionModel> prediction_models();

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SERVE_PREDICT_H_
