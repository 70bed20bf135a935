#include <fmt/format.h>

#include <utility>
#include <vector>

#include "streams/topic_service.h"
#include "wire/sns/operation.h"

namespace freshet::sns {

namespace {

auto no_topic() {
  return fail(ErrorCode::kNotFound, "Topic does not exist");
}

class CreateTopic final : public Operation {
 public:
  CreateTopic(const ServerAddress& place, std::string name, TopicSettings settings)
      : Operation(place), name_(std::move(name)), settings_(std::move(settings)) {}
  Async<Result<void>> run(Runtime& runtime) override { return runtime.create_topic(name_, settings_); }
  void write(XmlWriter& xml) const override { xml.element("TopicArn", topic_arn(account_, name_)); }

 private:
  const std::string name_;
  const TopicSettings settings_;
};

class DeleteTopic final : public Operation {
 public:
  DeleteTopic(const ServerAddress& place, std::string name) : Operation(place), name_(std::move(name)) {}
  // A missing topic counts as deleted.
  Async<Result<void>> run(Runtime& runtime) override {
    std::string name = name_;
    auto looking = runtime.check_is_of_clients(topic_named(name_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto removed = co_await runtime.remove_topic(std::move(name));
    if (!removed && removed.error().code == ErrorCode::kNotFound) co_return Result<void>();
    co_return removed;
  }

 private:
  const std::string name_;
};

class ListTopics final : public Operation {
 public:
  ListTopics(const ServerAddress& place, std::string after) : Operation(place), after_(std::move(after)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    names_ = runtime.topic_service().topics_after(after_, kPage + 1);
    return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    xml.open("Topics");
    for (size_t i = 0; i < std::min(names_.size(), kPage); ++i) {
      xml.open("member");
      xml.element("TopicArn", topic_arn(account_, names_[i]));
      xml.close("member");
    }
    xml.close("Topics");
    if (names_.size() > kPage) write_token(xml, names_[kPage - 1]);
  }

 private:
  const std::string after_;
  std::vector<std::string> names_;
};

// The policy that the service shows where none is set. Access is not checked by policy.
std::string default_policy(const Account& account, const std::string& arn) {
  return fmt::format(
      R"({{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{{"Sid":"__default_statement_ID",)"
      R"("Effect":"Allow","Principal":{{"AWS":"*"}},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes",)"
      R"("SNS:AddPermission","SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic",)"
      R"("SNS:Publish"],"Resource":"{}","Condition":{{"StringEquals":{{"AWS:SourceOwner":"{}"}}}}}}]}})",
      arn, account.id);
}

class GetTopicAttributes final : public Operation {
 public:
  GetTopicAttributes(const ServerAddress& place, std::string name) : Operation(place), name_(std::move(name)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto found = runtime.topic_service().find_topic(name_);
    if (!found) return Result<void>(no_topic());
    state_ = std::move(*found);
    return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    const std::string arn = topic_arn(account_, name_);
    const auto& set = state_.settings.attributes;
    xml.open("Attributes");
    xml.entry("TopicArn", arn);
    xml.entry("Owner", account_.id);
    xml.entry("SubscriptionsConfirmed", std::to_string(state_.confirmed));
    xml.entry("SubscriptionsPending", std::to_string(state_.pending));
    xml.entry("SubscriptionsDeleted", std::to_string(state_.settings.deleted));
    if (!set.contains("DisplayName")) xml.entry("DisplayName", "");
    if (!set.contains("Policy")) xml.entry("Policy", default_policy(account_, arn));
    if (set.contains("FifoTopic") && !set.contains("ContentBasedDeduplication")) {
      xml.entry("ContentBasedDeduplication", "false");
    }
    for (const auto& [name, value] : set) xml.entry(name, value);
    xml.close("Attributes");
  }

 private:
  const std::string name_;
  TopicState state_;
};

class ChangeTopicOperation final : public Operation {
 public:
  ChangeTopicOperation(const ServerAddress& place, std::string name, ChangeTopic change)
      : Operation(place), name_(std::move(name)), change_(std::move(change)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto looking = runtime.check_is_of_clients(topic_named(name_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto changing = runtime.change_topic(name_, change_);
    co_return co_await changing;
  }

 private:
  const std::string name_;
  const ChangeTopic change_;
};

Result<TopicSettings> settings_in(const QueryForm& form) {
  TopicSettings settings;
  for (const auto& [name, value] : pairs_in(form, "Attributes.entry", "key", "value")) {
    if (auto set = set_topic_attribute(settings, name, value); !set) return fail(std::move(set.error()));
  }
  const auto tags = pairs_in(form, "Tags.member", "Key", "Value");
  if (auto set = add_topic_tags(settings, tags); !set) return fail(std::move(set.error()));
  if (form.find("DataProtectionPolicy")) {
    return invalid("Invalid parameter: DataProtectionPolicy Reason: messages are not inspected by this server");
  }
  return settings;
}

}  // namespace

Parsed parse_create_topic(const QueryForm& form, const ServerAddress& place) {
  auto settings = settings_in(form);
  if (!settings) return fail(std::move(settings.error()));
  return std::make_unique<CreateTopic>(place, form.text("Name"), std::move(*settings));
}

Parsed parse_delete_topic(const QueryForm& form, const ServerAddress& place) {
  auto name = topic_in(form, place);
  if (!name) return fail(std::move(name.error()));
  return std::make_unique<DeleteTopic>(place, std::move(*name));
}

Parsed parse_list_topics(const QueryForm& form, const ServerAddress& place) {
  auto after = read_token(form);
  if (!after) return fail(std::move(after.error()));
  return std::make_unique<ListTopics>(place, std::move(*after));
}

Parsed parse_get_topic_attributes(const QueryForm& form, const ServerAddress& place) {
  auto name = topic_in(form, place);
  if (!name) return fail(std::move(name.error()));
  return std::make_unique<GetTopicAttributes>(place, std::move(*name));
}

Parsed parse_set_topic_attributes(const QueryForm& form, const ServerAddress& place) {
  auto name = topic_in(form, place);
  if (!name) return fail(std::move(name.error()));
  auto attribute = required(form, "AttributeName");
  if (!attribute) return fail(std::move(attribute.error()));
  auto change = [attribute = *attribute, value = form.text("AttributeValue")](TopicSettings& settings) {
    return set_topic_attribute(settings, attribute, value);
  };
  return std::make_unique<ChangeTopicOperation>(place, std::move(*name), std::move(change));
}

}  // namespace freshet::sns
