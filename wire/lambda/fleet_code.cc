#include "wire/lambda/fleet_code.h"

#include <utility>

#include "runtime/definitions/shared_code.h"

namespace freshet {

Async<Result<std::shared_ptr<const void>>> FleetCode::bring(std::string folder) {
  std::string name = folder;
  auto there = co_await store_.find(std::move(name));
  if (there) co_return std::move(there->hold);
  if (there.error().code != ErrorCode::kNotFound) co_return fail(std::move(there.error()));
  name = folder;
  auto archive = co_await read_code(engine_, std::move(name));
  if (!archive) co_return fail(std::move(archive.error()));
  auto kept = co_await store_.keep(std::move(*archive), std::move(folder));
  if (!kept) co_return fail(std::move(kept.error()));
  co_return std::move(kept->hold);
}

Async<Result<void>> FleetCode::give(std::string folder) {
  std::string name = folder;
  auto archive = co_await store_.pack(std::move(name));
  if (!archive) co_return fail(std::move(archive.error()));
  auto storing = store_code(engine_, scheduler_, random_, std::move(folder), std::move(*archive));
  co_return co_await storing;
}

Async<Result<void>> FleetCode::give(StoredCode code, std::string archive) {
  std::string folder = code.folder.substr(code.folder.rfind('/') + 1);
  auto storing = store_code(engine_, scheduler_, random_, std::move(folder), std::move(archive));
  auto stored = co_await storing;
  if (on_given) on_given();
  co_return stored;
}

}  // namespace freshet
