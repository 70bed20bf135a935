#include "wire/sns/publish_form.h"

#include <utility>
#include <vector>

#include "streams/subscription.h"
#include "tables/value/json.h"
#include "wire/sns/operation.h"
#include "wire/sns/sns_route.h"
#include "wire/sns/xml.h"

namespace freshet {

namespace {

class FormWriter {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += '&';
    append(name);
    text_ += '=';
    append(value);
  }
  std::string take() { return std::move(text_); }

 private:
  void append(std::string_view text) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (const char c : text) {
      if (kPlain.find(c) != std::string_view::npos) {
        text_ += c;
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      text_ += '%';
      text_ += kDigits[byte >> 4];
      text_ += kDigits[byte & 15];
    }
  }

  std::string text_;
};

std::string message_of(const PublishInput& input, const MessageByProtocol& by_protocol) {
  if (by_protocol.empty()) return input.message;
  Map map;
  map.set("default", Value(input.message));
  for (const auto& [protocol, text] : by_protocol) map.set(protocol, Value(text));
  std::string out;
  append_plain_json(out, Value(std::move(map)));
  return out;
}

// Undoes the escapes of XmlWriter.
std::string read_text(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEscapes[] = {{"&amp;", '&'},  {"&lt;", '<'},    {"&gt;", '>'},
                                                            {"&quot;", '"'}, {"&apos;", '\''}, {"&#xD;", '\r'}};
  std::string out;
  while (!text.empty()) {
    size_t length = 1;
    char c = text.front();
    for (const auto& [escape, character] : kEscapes) {
      if (!text.starts_with(escape)) continue;
      length = escape.size();
      c = character;
    }
    out += c;
    text.remove_prefix(length);
  }
  return out;
}

// The text of the first element of that name; empty if there is none.
std::string element_in(std::string_view xml, const std::string& name) {
  const std::string open = "<" + name + ">";
  const size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  const size_t end = xml.find("</" + name + ">", begin);
  if (end == std::string_view::npos) return {};
  return read_text(xml.substr(begin + open.size(), end - begin - open.size()));
}

ErrorCode code_of(int status) {
  switch (status) {
    case 404:
      return ErrorCode::kNotFound;
    case 429:
      return ErrorCode::kTooManyRequests;
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return status < 500 ? ErrorCode::kValidation : ErrorCode::kUnknownOutcome;
  }
}

}  // namespace

std::string published_fifo_topic(const HttpRequest& request) {
  if (request.method != "POST" || !is_query_request(request)) return {};
  const auto form = sns::QueryForm::parse(request.body);
  if (!form) return {};
  const std::string action = form->text("Action");
  if (action != "Publish" && action != "PublishBatch") return {};
  std::string topic = topic_name(form->text(form->find("TargetArn") ? "TargetArn" : "TopicArn"));
  return topic.ends_with(kFifoSuffix) ? topic : std::string();
}

HttpRequest publish_request(const Account& account, std::string_view topic, const PublishInput& input,
                            const MessageByProtocol& by_protocol) {
  FormWriter form;
  form.add("Action", "Publish");
  form.add("Version", "2010-03-31");
  form.add("TopicArn", topic_arn(account, topic));
  form.add("Message", message_of(input, by_protocol));
  if (!by_protocol.empty()) form.add("MessageStructure", "json");
  if (!input.subject.empty()) form.add("Subject", input.subject);
  if (!input.group_id.empty()) form.add("MessageGroupId", input.group_id);
  if (!input.deduplication_id.empty()) form.add("MessageDeduplicationId", input.deduplication_id);
  int number = 0;
  for (const auto& [name, attribute] : input.attributes) {
    const std::string entry = "MessageAttributes.entry." + std::to_string(++number);
    const bool is_binary = attribute.type == "Binary" || attribute.type.starts_with("Binary.");
    form.add(entry + ".Name", name);
    form.add(entry + ".Value.DataType", attribute.type);
    form.add(entry + (is_binary ? ".Value.BinaryValue" : ".Value.StringValue"), attribute.value);
  }
  HttpRequest request;
  request.method = "POST";
  request.target = "/";
  request.body = form.take();
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  return request;
}

Result<Published> published_in(const HttpResponse& answer) {
  if (answer.status == 200) {
    Published published{element_in(answer.body, "MessageId"), element_in(answer.body, "SequenceNumber")};
    if (!published.message_id.empty()) return published;
    return fail(ErrorCode::kUnknownOutcome, "the answer to a publish has no MessageId");
  }
  std::string message = element_in(answer.body, "Message");
  if (message.empty()) message = "a publish got the status " + std::to_string(answer.status);
  return fail(code_of(answer.status), std::move(message));
}

HttpResponse query_refusal(const Error& error, std::string request_id) {
  const sns::ErrorForm form = sns::form_of(error);
  HttpResponse response;
  response.status = form.status;
  response.content_type = "text/xml";
  if (form.status == 503) response.headers.emplace_back("Retry-After", "1");
  response.body = sns::error_document(form.status, form.name, error.message, request_id);
  response.headers.emplace_back("x-amzn-RequestId", std::move(request_id));
  return response;
}

}  // namespace freshet
