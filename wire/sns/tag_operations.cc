#include <fmt/format.h>

#include <utility>
#include <vector>

#include "streams/topic_service.h"
#include "wire/sns/operation.h"

namespace freshet::sns {

namespace {

tl::unexpected<Error> no_resource() {
  return named("ResourceNotFound", "Resource does not exist");
}

class ChangeTags final : public Operation {
 public:
  ChangeTags(const ServerAddress& place, std::string topic, ChangeTopic change)
      : Operation(place), topic_(std::move(topic)), change_(std::move(change)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    std::string topic = topic_;
    auto looking = runtime.check_is_of_clients(topic_named(topic_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto done = co_await runtime.change_topic(std::move(topic), std::move(change_));
    if (!done && done.error().code == ErrorCode::kNotFound) co_return no_resource();
    co_return done;
  }

 private:
  const std::string topic_;
  ChangeTopic change_;
};

class ListTags final : public Operation {
 public:
  ListTags(const ServerAddress& place, std::string topic) : Operation(place), topic_(std::move(topic)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto found = runtime.topic_service().find_topic(topic_);
    if (!found) return Result<void>(no_resource());
    tags_ = std::move(found->settings.tags);
    return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    xml.open("Tags");
    for (const auto& [key, value] : tags_) {
      xml.open("member");
      xml.element("Key", key);
      xml.element("Value", value);
      xml.close("member");
    }
    xml.close("Tags");
  }

 private:
  const std::string topic_;
  std::map<std::string, std::string> tags_;
};

}  // namespace

Parsed parse_tag_resource(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place, "ResourceArn");
  if (!topic) return fail(std::move(topic.error()));
  auto change = [tags = pairs_in(form, "Tags.member", "Key", "Value")](TopicSettings& settings) {
    return add_topic_tags(settings, tags);
  };
  return std::make_unique<ChangeTags>(place, std::move(*topic), std::move(change));
}

Parsed parse_untag_resource(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place, "ResourceArn");
  if (!topic) return fail(std::move(topic.error()));
  std::vector<std::string> keys;
  for (const std::string& entry : form.entries("TagKeys.member")) keys.push_back(form.text(entry));
  auto change = [keys = std::move(keys)](TopicSettings& settings) {
    for (const std::string& key : keys) settings.tags.erase(key);
    return Result<void>();
  };
  return std::make_unique<ChangeTags>(place, std::move(*topic), std::move(change));
}

Parsed parse_list_tags_for_resource(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place, "ResourceArn");
  if (!topic) return fail(std::move(topic.error()));
  return std::make_unique<ListTags>(place, std::move(*topic));
}

}  // namespace freshet::sns
