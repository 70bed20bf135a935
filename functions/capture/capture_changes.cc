#include "functions/capture/capture_changes.h"

#include <fmt/format.h>

#include "functions/stream_batch.h"

namespace freshet {

Async<Result<std::string>> capture_changes(Context& context, Captures& captures) {
  auto settings = capture_settings(context.function.environment);
  if (!settings) co_return fail(settings.error());
  auto batch = stream_batch(context.invocation.payload, "capture_changes");
  if (!batch) co_return fail(batch.error());
  if ((*batch)->records.empty()) co_return std::string("null");
  auto appended = co_await captures.append(*settings, **batch);
  if (!appended) co_return fail(appended.error());
  co_return fmt::format(R"({{"written":{},"seenBefore":{}}})", appended->written, appended->seen_before);
}

}  // namespace freshet
