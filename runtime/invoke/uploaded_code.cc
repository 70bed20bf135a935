#include "runtime/invoke/uploaded_code.h"

#include <utility>

#include "runtime/invoke/codec.h"
#include "streams/system_table.h"

namespace freshet {

Async<Result<void>> find_uploaded_code(Tables& tables, std::string directory) {
  auto there = co_await ensure_system_table(tables);
  if (!there) co_return there;
  auto items = co_await load_system_items(tables, std::string(kFunctionKind));
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& item : *items) {
    const FunctionDefinition function = function_of(item.decode());
    if (function.code_sha256.empty()) continue;  // A folder that a client named stays where it is.
    std::string folder = directory + "/" + function.code.substr(function.code.rfind('/') + 1);
    if (folder == function.code) continue;
    Item moved = item.decode();
    moved.set("code", Value(std::move(folder)));
    PutItemInput put = put_system_item(std::move(moved));
    auto written = co_await tables.put_item(std::move(put));
    if (!written) co_return fail(std::move(written.error()));
  }
  co_return Result<void>();
}

}  // namespace freshet
