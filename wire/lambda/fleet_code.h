// Brings the code that clients upload at one daemon of a fleet to the others. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "base/async.h"
#include "base/random.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/definitions/shared_definitions.h"
#include "tables/tables.h"
#include "wire/lambda/code_store.h"

namespace freshet {

class FleetCode final : public DefinitionCode {
 public:
  // `engine`: the store that the daemons share. All must outlive this.
  FleetCode(CodeStore& store, Tables& engine, Scheduler& scheduler, Random& random)
      : store_(store), engine_(engine), scheduler_(scheduler), random_(random) {}

  std::string path_of(const std::string& folder) const override { return store_.path_of(folder); }
  Async<Result<std::shared_ptr<const void>>> bring(std::string folder) override;
  // From an archive of the folder's files, as the client's may be gone.
  Async<Result<void>> give(std::string folder) override;
  // Gives the fleet the archive that `code` was made of. Await it before a definition names the code.
  Async<Result<void>> give(StoredCode code, std::string archive);

 private:
  CodeStore& store_;
  Tables& engine_;
  Scheduler& scheduler_;
  Random& random_;
};

}  // namespace freshet
