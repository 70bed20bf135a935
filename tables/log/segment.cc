#include "tables/log/segment.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/check.h"

namespace freshet::log_detail {
namespace {

static_assert(std::endian::native == std::endian::little, "integers of the log are little-endian");

constexpr std::string_view kMagic = "FRESHLOG";
constexpr std::string_view kNamePrefix = "segment-";
constexpr std::string_view kNameSuffix = ".log";
constexpr size_t kNameDigits = 10;
constexpr uint64_t kAllocatedUnit = 8;
constexpr uint64_t kReadAhead = 256u << 10;

template <class T>
void put(char* bytes, size_t offset, T value) {
  std::memcpy(bytes + offset, &value, sizeof value);
}

template <class T>
T get(const char* bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

}  // namespace

std::string encode(const SegmentHeader& header) {
  std::string bytes(kSegmentHeaderBytes, '\0');
  char* const to = bytes.data();
  std::memcpy(to, kMagic.data(), kMagic.size());
  put(to, 8, kFormatVersion);
  put(to, 12, static_cast<uint32_t>(kSegmentHeaderBytes));
  put(to, 16, header.log_id);
  put(to, 24, header.id);
  put(to, 28, header.first_unretired);
  put(to, 32, header.first_sequence);
  put(to, 40, header.durable.offset);
  put(to, 48, header.durable.segment);
  put(to, 52, static_cast<uint32_t>(std::min<uint64_t>(header.allocated / kAllocatedUnit, UINT32_MAX)));
  put(to, 56, header.previous_bytes);
  put(to, 64, uint64_t{XXH3_64bits(to, 64)});
  return bytes;
}

namespace {

// True if the header has our format except for its version: it is not that of a newer program, but has flipped bits.
bool is_ours_but_for_the_version(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderBytes) return false;
  std::string ours(bytes.substr(0, kSegmentHeaderBytes));
  put(ours.data(), 8, kFormatVersion);
  return get<uint64_t>(ours.data(), 64) == XXH3_64bits(ours.data(), 64);
}

}  // namespace

Result<SegmentHeader> decode_segment_header(std::string_view bytes, const std::string& path) {
  const auto damaged = [&](const std::string& how) {
    return fail(ErrorCode::kCorruption, path + ", offset 0: the segment header is damaged (" + how + ")");
  };
  if (bytes.size() < 12) return damaged("the file has only " + std::to_string(bytes.size()) + " bytes");
  const char* const from = bytes.data();
  if (bytes.substr(0, kMagic.size()) != kMagic) return damaged("it does not begin with " + std::string(kMagic));
  const auto version = get<uint32_t>(from, 8);
  if (version > kFormatVersion) {
    if (is_ours_but_for_the_version(bytes)) return damaged("its checksum does not match");
    return fail(ErrorCode::kUnsupportedFormat, path + " has format version " + std::to_string(version) +
                                                   ", this program knows up to " + std::to_string(kFormatVersion) +
                                                   ": nothing was changed, use a newer program");
  }
  if (bytes.size() < kSegmentHeaderBytes) return damaged("it is cut off");
  if (get<uint64_t>(from, 64) != XXH3_64bits(from, 64)) return damaged("its checksum does not match");
  SegmentHeader header;
  header.log_id = get<uint64_t>(from, 16);
  header.id = get<uint32_t>(from, 24);
  header.first_unretired = get<uint32_t>(from, 28);
  header.first_sequence = get<uint64_t>(from, 32);
  header.durable = {get<uint32_t>(from, 48), get<uint64_t>(from, 40)};
  header.allocated = get<uint32_t>(from, 52) * kAllocatedUnit;
  header.previous_bytes = get<uint64_t>(from, 56);
  return header;
}

void encode(const BatchHeader& header, uint64_t log_id, char* into) {
  put(into, 8, header.payload_checksum);
  put(into, 16, header.payload_bytes);
  put(into, 20, header.segment);
  put(into, 24, header.sequence);
  put(into, 32, header.durable.offset);
  put(into, 40, header.durable.segment);
  put(into, 44, uint32_t{header.kind});
  put(into, 0, checksum(std::string_view(into + 8, kBatchHeaderBytes - 8), log_id));
}

std::optional<BatchHeader> decode_batch_header(const char* bytes, uint64_t log_id, uint32_t segment) {
  if (get<uint32_t>(bytes, 20) != segment) return std::nullopt;
  if (get<uint64_t>(bytes, 0) != checksum(std::string_view(bytes + 8, kBatchHeaderBytes - 8), log_id)) {
    return std::nullopt;
  }
  BatchHeader header;
  header.payload_checksum = get<uint64_t>(bytes, 8);
  header.payload_bytes = get<uint32_t>(bytes, 16);
  header.segment = segment;
  header.sequence = get<uint64_t>(bytes, 24);
  header.durable = {get<uint32_t>(bytes, 40), get<uint64_t>(bytes, 32)};
  header.kind = get<uint8_t>(bytes, 44);
  return header;
}

uint64_t checksum(std::string_view payload, uint64_t log_id) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), log_id);
}

std::string segment_name(uint32_t id) {
  const std::string digits = std::to_string(id);
  return std::string(kNamePrefix) + std::string(kNameDigits - digits.size(), '0') + digits + std::string(kNameSuffix);
}

std::optional<uint32_t> parse_segment_name(std::string_view name) {
  if (name.size() != kNamePrefix.size() + kNameDigits + kNameSuffix.size()) return std::nullopt;
  uint32_t id = 0;
  const std::string_view digits = name.substr(kNamePrefix.size(), kNameDigits);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (parsed.ec != std::errc() || id == 0 || segment_name(id) != name) return std::nullopt;
  return id;
}

Result<std::string_view> BatchReader::window(uint64_t offset, uint64_t bytes) {
  if (offset >= limit_) return std::string_view();
  bytes = std::min(bytes, limit_ - offset);
  if (offset < start_ || offset + bytes > start_ + filled_) {
    const uint64_t want = std::min(std::max(bytes, kReadAhead), limit_ - offset);
    if (buffer_.size() < want) buffer_.resize(want);
    auto got = file_.read_at(offset, std::span(buffer_.data(), want));
    if (!got) return fail(std::move(got.error()));
    start_ = offset;
    filled_ = *got;
    bytes = std::min(bytes, filled_);
  }
  return std::string_view(buffer_.data() + (offset - start_), bytes);
}

Result<std::optional<BatchReader::Batch>> BatchReader::at(uint64_t offset) {
  auto bytes = window(offset, kBatchHeaderBytes);
  if (!bytes) return fail(std::move(bytes.error()));
  if (bytes->size() < kBatchHeaderBytes) return std::nullopt;
  const auto header = decode_batch_header(bytes->data(), log_id_, segment_);
  if (!header) return std::nullopt;
  const uint64_t whole = kBatchHeaderBytes + header->payload_bytes;
  if (whole > limit_ - offset) return std::nullopt;
  bytes = window(offset, whole);
  if (!bytes) return fail(std::move(bytes.error()));
  if (bytes->size() < whole) return std::nullopt;
  const std::string_view payload = bytes->substr(kBatchHeaderBytes);
  if (checksum(payload, log_id_) != header->payload_checksum) return std::nullopt;
  return Batch{*header, payload, offset + batch_bytes(header->payload_bytes)};
}

}  // namespace freshet::log_detail
