#include "streams/definition_writer.h"

#include "streams/system_table.h"

namespace freshet {

Async<Result<void>> write_alone(Tables& tables, std::vector<WriteInput> writes) {
  for (WriteInput& write : writes) {
    auto* put = std::get_if<PutItemInput>(&write);
    if (put == nullptr) continue;
    GetItemInput get = get_system_item(put->item.string_or("kind"), put->item.string_or("id"));
    auto before = co_await tables.get_item(std::move(get));
    if (!before) co_return fail(std::move(before.error()));
    if (*before && before->decode().contains(kSharedMark)) put->item.set(kSharedMark, Value::boolean(true));
  }
  auto written = co_await write_together(tables, std::move(writes));
  co_return written;
}

}  // namespace freshet
