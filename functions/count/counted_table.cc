#include "functions/count/counted_table.h"

#include <utility>

namespace freshet {

Async<Result<std::optional<TableDescription>>> counted_table(Context& context, const EventLog& log,
                                                             const StreamName& stream) {
  std::string name = stream.table;
  auto table = co_await context.services.tables.describe_table(std::move(name));
  const bool gone = !table && table.error().code == ErrorCode::kResourceNotFound;
  if (!table && !gone) co_return fail(std::move(table.error()));
  if (!gone && table->stream_label == stream.label) co_return std::optional(std::move(*table));
  log.info("COUNT_LEFT_OUT", {{"function", context.function.name},
                              {"table", stream.table},
                              {"stream", stream.label},
                              {"reason", "the stream is over; the table is counted with its next one"}});
  co_return std::optional<TableDescription>();
}

}  // namespace freshet
