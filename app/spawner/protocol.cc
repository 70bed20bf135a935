#include "app/spawner/protocol.h"

#include <cstring>

namespace freshet::spawner {
namespace {

enum class Tag : uint8_t { kStart = 1, kKill = 2, kAnswer = 3, kFlush = 4, kOutput = 5, kFlushed = 6 };

class Writer {
 public:
  explicit Writer(Tag tag) {
    bytes_.resize(sizeof(uint32_t));
    number(static_cast<uint64_t>(tag));
  }
  void number(uint64_t n) { bytes_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view s) {
    number(s.size());
    bytes_.append(s);
  }
  std::string finish() {
    const auto length = static_cast<uint32_t>(bytes_.size() - sizeof(uint32_t));
    std::memcpy(bytes_.data(), &length, sizeof length);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }
  uint64_t number() {
    uint64_t n = 0;
    if (rest_.size() < sizeof n) return failed(), 0;
    std::memcpy(&n, rest_.data(), sizeof n);
    rest_.remove_prefix(sizeof n);
    return n;
  }
  std::string text() {
    const uint64_t size = number();
    if (!ok_ || size > rest_.size()) return failed(), "";
    std::string s(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return s;
  }
  // How many elements follow; each takes at least eight bytes.
  uint64_t count() {
    const uint64_t n = number();
    if (n > rest_.size() / sizeof(uint64_t)) return failed(), 0;
    return n;
  }

 private:
  void failed() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool ok_ = true;
};

std::string encode_start(const StartRequest& start) {
  Writer w(Tag::kStart);
  w.number(start.id);
  w.number(start.spec.argv.size());
  for (const auto& argument : start.spec.argv) w.text(argument);
  w.number(start.spec.environment.size());
  for (const auto& [name, value] : start.spec.environment) {
    w.text(name);
    w.text(value);
  }
  w.text(start.spec.directory);
  w.text(start.spec.input);
  w.number(static_cast<uint64_t>(start.spec.timeout.count()));
  w.number(start.spec.max_output);
  w.number(start.spec.limits.memory);
  w.number(start.spec.limits.threads);
  w.number(start.spec.limits.file_bytes);
  w.number(start.spec.limits.open_files);
  w.number(start.follow);
  return w.finish();
}

std::optional<Request> decode_start(Reader& r) {
  StartRequest start;
  start.id = r.number();
  for (uint64_t n = r.count(); n > 0 && r.ok(); --n) start.spec.argv.push_back(r.text());
  for (uint64_t n = r.count(); n > 0 && r.ok(); --n) {
    std::string name = r.text();
    start.spec.environment[std::move(name)] = r.text();
  }
  start.spec.directory = r.text();
  start.spec.input = r.text();
  start.spec.timeout = milliseconds(static_cast<int64_t>(r.number()));
  start.spec.max_output = r.number();
  start.spec.limits.memory = r.number();
  start.spec.limits.threads = r.number();
  start.spec.limits.file_bytes = r.number();
  start.spec.limits.open_files = r.number();
  start.follow = r.number() != 0;
  if (!r.done() || start.spec.argv.empty()) return std::nullopt;
  return start;
}

std::string encode_answer(const Answer& answer) {
  Writer w(Tag::kAnswer);
  w.number(answer.id);
  w.text(answer.start_error);
  w.number(answer.try_again);
  w.number(answer.result.exit_status.has_value());
  w.number(static_cast<uint64_t>(answer.result.exit_status.value_or(0)));
  w.number(static_cast<uint64_t>(answer.result.signal));
  w.number(answer.result.timed_out);
  w.number(answer.result.out_of_memory);
  w.number(answer.result.too_many_threads);
  w.text(answer.result.output);
  w.text(answer.result.error_output);
  return w.finish();
}

Answer decode_answer(Reader& r) {
  Answer answer;
  answer.id = r.number();
  answer.start_error = r.text();
  answer.try_again = r.number() != 0;
  const bool exited = r.number() != 0;
  const auto status = static_cast<int>(r.number());
  if (exited) answer.result.exit_status = status;
  answer.result.signal = static_cast<int>(r.number());
  answer.result.timed_out = r.number() != 0;
  answer.result.out_of_memory = r.number() != 0;
  answer.result.too_many_threads = r.number() != 0;
  answer.result.output = r.text();
  answer.result.error_output = r.text();
  return answer;
}

std::string encode_output(const Output& output) {
  Writer w(Tag::kOutput);
  w.number(output.id);
  w.number(static_cast<uint64_t>(output.stream));
  w.number(output.dropped);
  w.text(output.bytes);
  return w.finish();
}

Output decode_output(Reader& r) {
  Output output;
  output.id = r.number();
  output.stream = static_cast<OutputStream>(r.number());
  output.dropped = r.number();
  output.bytes = r.text();
  return output;
}

std::string encode_id(Tag tag, uint64_t id) {
  Writer w(tag);
  w.number(id);
  return w.finish();
}

}  // namespace

std::string encode(const Request& request) {
  if (const auto* start = std::get_if<StartRequest>(&request)) return encode_start(*start);
  if (const auto* flush = std::get_if<FlushRequest>(&request)) return encode_id(Tag::kFlush, flush->id);
  return encode_id(Tag::kKill, std::get<KillRequest>(request).id);
}

std::string encode(const Reply& reply) {
  if (const auto* output = std::get_if<Output>(&reply)) return encode_output(*output);
  if (const auto* flushed = std::get_if<Flushed>(&reply)) return encode_id(Tag::kFlushed, flushed->id);
  return encode_answer(std::get<Answer>(reply));
}

std::optional<Request> decode_request(std::string_view frame) {
  Reader r(frame);
  const auto tag = static_cast<Tag>(r.number());
  if (tag == Tag::kStart) return decode_start(r);
  const uint64_t id = r.number();
  if (!r.done()) return std::nullopt;
  if (tag == Tag::kKill) return KillRequest{id};
  if (tag == Tag::kFlush) return FlushRequest{id};
  return std::nullopt;
}

std::optional<Reply> decode_reply(std::string_view frame) {
  Reader r(frame);
  std::optional<Reply> reply;
  switch (static_cast<Tag>(r.number())) {
    case Tag::kAnswer:
      reply = decode_answer(r);
      break;
    case Tag::kOutput:
      reply = decode_output(r);
      break;
    case Tag::kFlushed:
      reply = Flushed{r.number()};
      break;
    default:
      break;
  }
  return r.done() ? reply : std::nullopt;
}

std::optional<std::string> take_frame(std::string& buffer) {
  uint32_t length = 0;
  if (buffer.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, buffer.data(), sizeof length);
  if (buffer.size() - sizeof length < length) return std::nullopt;
  std::string frame = buffer.substr(sizeof length, length);
  buffer.erase(0, sizeof length + length);
  return frame;
}

}  // namespace freshet::spawner
