// The bytes of a log segment: docs/formats.md, "The log". The end of that page says how to change them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "tables/log/log.h"

namespace freshet::log_detail {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kSegmentHeaderBytes = 72;
inline constexpr size_t kBatchHeaderBytes = 48;

struct SegmentHeader {
  uint64_t log_id = 0;
  uint32_t id = 0;
  uint32_t first_unretired = 0;
  uint64_t first_sequence = 0;
  LogPosition durable;
  uint64_t previous_bytes = 0;  // Used bytes of segment id - 1.
  // Size of the file when it became this segment, rounded down to a multiple of eight; 0 if not known. At most 32 GiB,
  // also for a larger file.
  uint64_t allocated = 0;
};

std::string encode(const SegmentHeader& header);
// `path` is for messages. kUnsupportedFormat for a newer version, kCorruption for anything that is not a whole header.
Result<SegmentHeader> decode_segment_header(std::string_view bytes, const std::string& path);

struct BatchHeader {
  uint64_t payload_checksum = 0;
  uint32_t payload_bytes = 0;
  uint32_t segment = 0;
  uint64_t sequence = 0;
  LogPosition durable;
  uint8_t kind = 0;
};

// Bytes that a batch takes in a segment, padding included.
constexpr uint64_t batch_bytes(uint64_t payload_bytes) {
  return (kBatchHeaderBytes + payload_bytes + 7) / 8 * 8;
}

// Writes kBatchHeaderBytes to `into`.
void encode(const BatchHeader& header, uint64_t log_id, char* into);
// `bytes` are at least kBatchHeaderBytes. Empty if they are not a valid batch header of that segment.
std::optional<BatchHeader> decode_batch_header(const char* bytes, uint64_t log_id, uint32_t segment);
uint64_t checksum(std::string_view payload, uint64_t log_id);

std::string segment_name(uint32_t id);
std::optional<uint32_t> parse_segment_name(std::string_view name);

// Reads batches of one segment, with large sequential reads into a buffer that the caller owns and reuses.
class BatchReader {
 public:
  // Reads only the first `limit` bytes of the file. All referents must outlive the reader.
  BatchReader(File& file, uint64_t log_id, uint32_t segment, uint64_t limit, std::string& buffer)
      : file_(file), log_id_(log_id), segment_(segment), limit_(limit), buffer_(buffer) {}

  struct Batch {
    BatchHeader header;
    std::string_view payload;  // Valid until the next call.
    uint64_t end = 0;          // Offset of the next batch.
  };
  // The batch at `offset`; empty if there is no complete one. Errors are those of the file.
  Result<std::optional<Batch>> at(uint64_t offset);

 private:
  // `bytes` bytes at `offset`, or fewer at the end.
  Result<std::string_view> window(uint64_t offset, uint64_t bytes);

  File& file_;
  const uint64_t log_id_;
  const uint32_t segment_;
  const uint64_t limit_;
  std::string& buffer_;
  uint64_t start_ = 0;   // The offset of the buffer's content in the file.
  uint64_t filled_ = 0;  // The number of bytes in the buffer.
};

}  // namespace freshet::log_detail
