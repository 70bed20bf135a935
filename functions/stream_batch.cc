#include "functions/stream_batch.h"

namespace freshet {

Result<const StreamBatch*> stream_batch(const Payload& event, std::string_view handler) {
  const StreamBatch* batch = event.stream();
  if (batch == nullptr) {
    return invalid(std::string(handler) +
                   " takes events of a table's stream only: give the function an event of type DynamoDB, or an event "
                   "source mapping");
  }
  return batch;
}

}  // namespace freshet
