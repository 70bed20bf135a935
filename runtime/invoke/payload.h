// The event of one invocation: JSON text, or change records whose text is made only on request. For a native function
// that only reads records, that text is neither written nor parsed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "streams/shards/named_records.h"
#include "streams/stream_event.h"

namespace freshet {

// Records of one stream, as an event source mapping delivers them. An engine's stream has shards, and a batch may have
// records of several: those of one shard are in its order. Their `sequence` means nothing beyond this delivery.
struct StreamBatch {
  std::vector<ChangeRecord> records;
  StreamSource source;
  std::string more = {};               // JSON: members of the event beside Records, each with a comma before it.
  std::vector<RecordName> names = {};  // One for each record of an engine; empty on the embedded store.
  size_t lanes = 1;                    // The mapping's: with several, not all records come in order.
  bool leaves_out = false;             // The mapping has filters, or gives records up.
  // On an engine: changes when records of the stream are found to be lost, at the latest with those behind the gap.
  std::string continuity = {};
  bool is_of_engine() const { return !names.empty(); }
};

// Copies share the records. Loop thread.
class Payload {
 public:
  Payload() = default;
  Payload(std::string json) : text_(std::move(json)) {}  // NOLINT(google-explicit-constructor): most payloads are text.
  explicit Payload(StreamBatch batch) : batch_(std::make_shared<const StreamBatch>(std::move(batch))) {}

  // Null if the event is not from a stream, or is known as text only (it was stored, or came from a client).
  const StreamBatch* stream() const { return batch_.get(); }
  // JSON.
  const std::string& text() const {
    if (text_.empty() && batch_) {
      text_ = batch_->is_of_engine() ? named_stream_event(batch_->records, batch_->source, batch_->names)
                                     : stream_event(batch_->records, batch_->source);
      text_.insert(text_.size() - 1, batch_->more);
    }
    return text_;
  }

 private:
  std::shared_ptr<const StreamBatch> batch_;
  mutable std::string text_;
};

}  // namespace freshet
