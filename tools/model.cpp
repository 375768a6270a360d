#include "model.h"

#include <algorithm>

#include "command.h"

namespace tools {

const models::Model& model_of(const std::string& name) {
  const models::Model* model = models::find_model(name);
  if (model == nullptr) {
    throw Refusal("there is no model \"" + name + "\"; present are " +
                  list_of_names(models::models(), &models::Model::name));
  }
  return *model;
}

const models::Program& program_of(const models::Recorded& recorded,
                                  const std::string& name) {
  const auto found =
      std::ranges::find(recorded.programs, name, &models::Program::name);
  if (found == recorded.programs.end()) {
    throw Refusal("the model has no plan \"" + name + "\"; present are " +
                  list_of_names(recorded.programs, &models::Program::name));
  }
  return *found;
}

}  // namespace tools
