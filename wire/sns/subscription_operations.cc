#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "streams/topic_service.h"
#include "wire/sns/operation.h"

namespace freshet::sns {

namespace {

// Functions are shown by ARN, however a template called them.
std::string shown_endpoint(const Account& account, const SubscriptionDefinition& subscription) {
  if (subscription.protocol != "lambda") return subscription.endpoint;
  return function_arn(account, function_name(subscription.endpoint));
}

class Subscribe final : public Operation {
 public:
  Subscribe(const ServerAddress& place, SubscriptionDefinition asked, ChangeSubscription configure, bool wants_arn)
      : Operation(place),
        server_(place.server),
        asked_(std::move(asked)),
        configure_(std::move(configure)),
        wants_arn_(wants_arn) {}
  Async<Result<void>> run(Runtime& runtime) override {
    std::string server = server_;
    auto state = co_await runtime.request_subscription(std::move(asked_), std::move(configure_), std::move(server));
    if (!state) co_return fail(std::move(state.error()));
    state_ = std::move(*state);
    co_return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    const bool shown = wants_arn_ || !state_.settings.pending;
    xml.element("SubscriptionArn", shown ? state_.arn : "pending confirmation");
  }

 private:
  const std::string server_;
  SubscriptionDefinition asked_;
  ChangeSubscription configure_;
  const bool wants_arn_;
  SubscriptionState state_;
};

class ConfirmSubscription final : public Operation {
 public:
  ConfirmSubscription(const ServerAddress& place, std::string topic, std::string token, bool authenticated)
      : Operation(place), topic_(std::move(topic)), token_(std::move(token)), authenticated_(authenticated) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto state = co_await runtime.confirm_subscription(std::move(topic_), std::move(token_), authenticated_);
    if (!state) co_return fail(std::move(state.error()));
    arn_ = std::move(state->arn);
    co_return Result<void>();
  }
  void write(XmlWriter& xml) const override { xml.element("SubscriptionArn", arn_); }

 private:
  std::string topic_;
  std::string token_;
  const bool authenticated_;
  std::string arn_;
};

class Unsubscribe final : public Operation {
 public:
  Unsubscribe(const ServerAddress& place, std::string arn) : Operation(place), arn_(std::move(arn)) {}
  // A subscription that is not there counts as unsubscribed.
  Async<Result<void>> run(Runtime& runtime) override {
    auto looking = runtime.check_is_of_clients(subscription_named(arn_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto done = co_await runtime.unsubscribe(std::move(arn_));
    if (!done && done.error().code == ErrorCode::kNotFound) co_return Result<void>();
    co_return done;
  }

 private:
  std::string arn_;
};

class UnsubscribeByToken final : public Operation {
 public:
  UnsubscribeByToken(const ServerAddress& place, std::string arn, std::string token)
      : Operation(place), arn_(std::move(arn)), token_(std::move(token)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    const auto found = runtime.topic_service().find_subscription(arn_);
    // A missing subscription gets the same answer as a wrong token.
    if (!found || found->settings.authenticated || token_.empty() ||
        !equal_in_constant_time(found->settings.token, token_)) {
      co_return named("AuthorizationError", "The token does not end this subscription, if there is one");
    }
    auto looking = runtime.check_is_of_clients(subscription_named(arn_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto done = co_await runtime.unsubscribe(std::move(arn_));
    co_return done;
  }

 private:
  std::string arn_;
  const std::string token_;
};

class ListSubscriptions final : public Operation {
 public:
  // Lists those of that topic, or all for "".
  ListSubscriptions(const ServerAddress& place, std::string topic, std::string after)
      : Operation(place), topic_(std::move(topic)), after_(std::move(after)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    const TopicService& topics = runtime.topic_service();
    if (!topic_.empty() && !topics.has_topic(topic_)) {
      return Result<void>(fail(ErrorCode::kNotFound, "Topic does not exist"));
    }
    states_ = topics.subscriptions_after(topic_, after_, kPage + 1);
    return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    xml.open("Subscriptions");
    for (size_t i = 0; i < std::min(states_.size(), kPage); ++i) {
      const SubscriptionState& state = states_[i];
      xml.open("member");
      xml.element("SubscriptionArn", state.settings.pending ? "PendingConfirmation" : state.arn);
      xml.element("Owner", account_.id);
      xml.element("Protocol", state.definition.protocol);
      xml.element("Endpoint", shown_endpoint(account_, state.definition));
      xml.element("TopicArn", topic_arn(account_, state.definition.topic));
      xml.close("member");
    }
    xml.close("Subscriptions");
    if (states_.size() > kPage) write_token(xml, states_[kPage - 1].arn);
  }

 private:
  const std::string topic_;
  const std::string after_;
  std::vector<SubscriptionState> states_;
};

class GetSubscriptionAttributes final : public Operation {
 public:
  GetSubscriptionAttributes(const ServerAddress& place, std::string arn) : Operation(place), arn_(std::move(arn)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto found = runtime.topic_service().find_subscription(arn_);
    if (!found) return Result<void>(fail(ErrorCode::kNotFound, "Subscription does not exist"));
    state_ = std::move(*found);
    return Result<void>();
  }
  void write(XmlWriter& xml) const override {
    const SubscriptionDefinition& definition = state_.definition;
    const auto flag = [](bool value) { return value ? "true" : "false"; };
    xml.open("Attributes");
    xml.entry("SubscriptionArn", state_.arn);
    xml.entry("TopicArn", topic_arn(account_, definition.topic));
    xml.entry("Owner", account_.id);
    xml.entry("Protocol", definition.protocol);
    xml.entry("Endpoint", shown_endpoint(account_, definition));
    xml.entry("RawMessageDelivery", flag(definition.raw_delivery));
    xml.entry("PendingConfirmation", flag(state_.settings.pending));
    // An endpoint confirms with a token; functions and a template's subscriptions need none.
    xml.entry("ConfirmationWasAuthenticated", flag(state_.settings.token.empty()));
    if (!definition.filter_policy.empty()) {
      xml.entry("FilterPolicy", definition.filter_policy);
      xml.entry("FilterPolicyScope", definition.filter_on_body ? "MessageBody" : "MessageAttributes");
    }
    if (!state_.settings.delivery_policy.empty()) xml.entry("DeliveryPolicy", state_.settings.delivery_policy);
    xml.close("Attributes");
  }

 private:
  const std::string arn_;
  SubscriptionState state_;
};

class SetSubscriptionAttributes final : public Operation {
 public:
  SetSubscriptionAttributes(const ServerAddress& place, std::string arn, ChangeSubscription change)
      : Operation(place), arn_(std::move(arn)), change_(std::move(change)) {}
  Async<Result<void>> run(Runtime& runtime) override {
    auto looking = runtime.check_is_of_clients(subscription_named(arn_));
    auto ours = co_await looking;
    if (!ours) co_return ours;
    auto changing = runtime.change_subscription(arn_, change_);
    co_return co_await changing;
  }

 private:
  const std::string arn_;
  const ChangeSubscription change_;
};

Result<std::string> subscription_in(const QueryForm& form) {
  auto arn = required(form, "SubscriptionArn");
  if (!arn) return arn;
  const auto parsed = parse_arn(*arn);
  if (parsed && parsed->service == "sns" && parsed->resource.find(':') != std::string::npos) return arn;
  return invalid("Invalid parameter: SubscriptionArn Reason: not the ARN of a subscription");
}

ChangeSubscription setter_of(std::map<std::string, std::string> attributes) {
  return [attributes = std::move(attributes)](SubscriptionDefinition& definition, SubscriptionSettings& settings) {
    for (const auto& [name, value] : attributes) {
      if (auto set = set_subscription_attribute(definition, settings, name, value); !set) return set;
    }
    return Result<void>();
  };
}

}  // namespace

Parsed parse_subscribe(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place);
  if (!topic) return fail(std::move(topic.error()));
  SubscriptionDefinition asked;
  asked.topic = std::move(*topic);
  asked.protocol = form.text("Protocol");
  asked.endpoint = form.text("Endpoint");
  if (asked.protocol == "lambda" && (!parse_arn(asked.endpoint) || function_name(asked.endpoint).empty())) {
    return invalid("Invalid parameter: Lambda endpoint ARN");
  }
  const std::string wants_arn = form.text("ReturnSubscriptionArn");
  if (!wants_arn.empty() && wants_arn != "true" && wants_arn != "false") {
    return invalid("Invalid parameter: ReturnSubscriptionArn Reason: wants true or false");
  }
  return std::make_unique<Subscribe>(
      place, std::move(asked), setter_of(pairs_in(form, "Attributes.entry", "key", "value")), wants_arn == "true");
}

Parsed parse_confirm_subscription(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place);
  if (!topic) return fail(std::move(topic.error()));
  auto token = required(form, "Token");
  if (!token) return fail(std::move(token.error()));
  const std::string authenticated = form.text("AuthenticateOnUnsubscribe");
  if (!authenticated.empty() && authenticated != "true" && authenticated != "false") {
    return invalid("Invalid parameter: AuthenticateOnUnsubscribe Reason: wants true or false");
  }
  return std::make_unique<ConfirmSubscription>(place, std::move(*topic), std::move(*token), authenticated == "true");
}

Parsed parse_unsubscribe_by_token(const QueryForm& form, const ServerAddress& place) {
  auto arn = subscription_in(form);
  if (!arn) return fail(std::move(arn.error()));
  return std::make_unique<UnsubscribeByToken>(place, std::move(*arn), form.text("Token"));
}

Parsed parse_unsubscribe(const QueryForm& form, const ServerAddress& place) {
  auto arn = subscription_in(form);
  if (!arn) return fail(std::move(arn.error()));
  return std::make_unique<Unsubscribe>(place, std::move(*arn));
}

Parsed parse_list_subscriptions(const QueryForm& form, const ServerAddress& place) {
  auto after = read_token(form);
  if (!after) return fail(std::move(after.error()));
  return std::make_unique<ListSubscriptions>(place, "", std::move(*after));
}

Parsed parse_list_subscriptions_by_topic(const QueryForm& form, const ServerAddress& place) {
  auto topic = topic_in(form, place);
  if (!topic) return fail(std::move(topic.error()));
  auto after = read_token(form);
  if (!after) return fail(std::move(after.error()));
  return std::make_unique<ListSubscriptions>(place, std::move(*topic), std::move(*after));
}

Parsed parse_get_subscription_attributes(const QueryForm& form, const ServerAddress& place) {
  auto arn = subscription_in(form);
  if (!arn) return fail(std::move(arn.error()));
  return std::make_unique<GetSubscriptionAttributes>(place, std::move(*arn));
}

Parsed parse_set_subscription_attributes(const QueryForm& form, const ServerAddress& place) {
  auto arn = subscription_in(form);
  if (!arn) return fail(std::move(arn.error()));
  auto name = required(form, "AttributeName");
  if (!name) return fail(std::move(name.error()));
  return std::make_unique<SetSubscriptionAttributes>(place, std::move(*arn),
                                                     setter_of({{*name, form.text("AttributeValue")}}));
}

}  // namespace freshet::sns
