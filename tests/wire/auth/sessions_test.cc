// Sessions, the bound on wrong tries, and the cookie.
#include "wire/auth/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/crypto.h"
#include "runtime/api/retry_later.h"
#include "wire/auth/session_cookie.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHome = "127.0.0.1";
const WallTime kSessionsStart{milliseconds(1'790'000'000'000)};

Credentials session_keys() {
  return *Credentials::parse(
      "[a]\naws_access_key_id = ADMIN\naws_secret_access_key = top\n"
      "[r]\naws_access_key_id = READER\naws_secret_access_key = look\nfreshet_role = read\n"
      "[t]\naws_access_key_id = TEMPORARY\naws_secret_access_key = brief\naws_session_token = token\n",
      "keys");
}

class SessionsTest : public testing::Test {
 protected:
  std::string begin(const std::string& key = "ADMIN", const std::string& secret = "top") {
    auto made = sessions_.begin({key, secret, ""}, kHome);
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->value : std::string();
  }
  ErrorCode refusal(const SignIn& given, std::string_view address = kHome) {
    auto made = sessions_.begin(given, address);
    EXPECT_FALSE(made);
    return made ? ErrorCode::kInternal : made.error().code;
  }

  SimClock clock_{kSessionsStart};
  Sessions sessions_{session_keys(), clock_};
};

TEST_F(SessionsTest, AKeyIsExchangedForASecretValue) {
  const auto made = sessions_.begin({"READER", "look", ""}, kHome);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->value.size(), 64u);
  EXPECT_EQ(made->session.key, "READER");
  EXPECT_EQ(made->session.role, Role::kRead);
  EXPECT_EQ(made->session.until, kSessionsStart + std::chrono::hours(1));
  EXPECT_EQ(sessions_.use(made->value)->key, "READER");
  std::set<std::string> values;
  for (int i = 0; i < 20; ++i) values.insert(begin());
  EXPECT_EQ(values.size(), 20u);
}

TEST_F(SessionsTest, NobodyElseGetsOne) {
  EXPECT_EQ(refusal({"ADMIN", "wrong", ""}), ErrorCode::kAccessDenied);
  EXPECT_EQ(refusal({"ADMIN", "look", ""}), ErrorCode::kAccessDenied) << "the secret of another key";
  EXPECT_EQ(refusal({"NOBODY", "top", ""}), ErrorCode::kAccessDenied);
  EXPECT_EQ(refusal({"NOBODY", "", ""}), ErrorCode::kAccessDenied) << "that nobody has no secret is no secret";
  EXPECT_EQ(refusal({"ADMIN", "top", "token"}), ErrorCode::kAccessDenied);
  EXPECT_EQ(refusal({"TEMPORARY", "brief", ""}), ErrorCode::kAccessDenied);
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_TRUE(sessions_.begin({"TEMPORARY", "brief", "token"}, kHome));
  const auto unknown = sessions_.begin({"NOBODY", "sesame", ""}, kHome);
  const auto wrong = sessions_.begin({"ADMIN", "sesame", ""}, kHome);
  EXPECT_EQ(unknown.error().message, wrong.error().message) << "an answer must not say which keys there are";
  EXPECT_THAT(wrong.error().message, Not(HasSubstr("sesame")));
}

TEST_F(SessionsTest, OnlyItsValueIsItsValue) {
  const std::string value = begin();
  EXPECT_FALSE(sessions_.use(""));
  EXPECT_FALSE(sessions_.use(value.substr(1)));
  EXPECT_FALSE(sessions_.use(value + "0"));
  EXPECT_FALSE(sessions_.use(sha256_hex(value))) << "what the daemon keeps is not what opens it";
  EXPECT_TRUE(sessions_.use(value));
}

TEST_F(SessionsTest, ItEndsAnHourAfterTheLastRequest) {
  const std::string value = begin();
  for (int i = 0; i < 5; ++i) {
    clock_.advance(std::chrono::minutes(59));
    const auto session = sessions_.use(value);
    ASSERT_TRUE(session);
    EXPECT_EQ(session->until, clock_.wall() + std::chrono::hours(1));
  }
  clock_.step_wall(std::chrono::hours(50));
  EXPECT_TRUE(sessions_.use(value)) << "the wall clock may be set";
  clock_.advance(std::chrono::hours(1) - milliseconds(1));
  EXPECT_EQ(sessions_.size(), 1u);
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(sessions_.use(value));
  EXPECT_EQ(sessions_.size(), 0u);
  EXPECT_FALSE(sessions_.end(value));
}

TEST_F(SessionsTest, AShorterTimeCanBeSet) {
  Sessions brief(session_keys(), clock_, seconds(2));
  const auto made = brief.begin({"ADMIN", "top", ""}, kHome);
  clock_.advance(milliseconds(1999));
  EXPECT_TRUE(brief.use(made->value));
  clock_.advance(seconds(2));
  EXPECT_FALSE(brief.use(made->value));
}

TEST_F(SessionsTest, SigningOutEndsThatOneOnly) {
  const std::string one = begin();
  const std::string two = begin();
  EXPECT_TRUE(sessions_.end(one));
  EXPECT_FALSE(sessions_.end(one));
  EXPECT_FALSE(sessions_.use(one));
  EXPECT_TRUE(sessions_.use(two));
}

TEST_F(SessionsTest, TheOneThatIsIdleForLongestGoes) {
  const std::string others = begin("READER", "look");
  std::vector<std::string> values;
  for (size_t i = 0; i < Sessions::kMostOfOneKey; ++i) {
    clock_.advance(seconds(1));
    values.push_back(begin());
  }
  clock_.advance(seconds(1));
  EXPECT_TRUE(sessions_.use(values[0]));  // So the second one has been idle for longest.
  clock_.advance(seconds(1));
  begin();
  EXPECT_TRUE(sessions_.use(values[0]));
  EXPECT_FALSE(sessions_.use(values[1]));
  EXPECT_TRUE(sessions_.use(values[2]));
  EXPECT_TRUE(sessions_.use(others)) << "one key cannot push out the sessions of another";
  EXPECT_EQ(sessions_.size(), Sessions::kMostOfOneKey + 1);
}

TEST_F(SessionsTest, WrongTriesAreBounded) {
  for (int i = 0; i < WrongTries::kAtOnce; ++i) EXPECT_EQ(refusal({"ADMIN", "wrong", ""}), ErrorCode::kAccessDenied);
  EXPECT_EQ(refusal({"ADMIN", "wrong", ""}), ErrorCode::kTooManyRequests);
  const auto right = sessions_.begin({"ADMIN", "top", ""}, kHome);
  ASSERT_FALSE(right) << "otherwise guessing would go on";
  EXPECT_THAT(right.error().message, HasSubstr("try again in 6 s"));
  EXPECT_EQ(std::dynamic_pointer_cast<const RetryLater>(right.error().detail)->after, seconds(6));
  EXPECT_TRUE(sessions_.begin({"ADMIN", "top", ""}, "10.0.0.9")) << "another address";
  clock_.advance(WrongTries::kEach);
  EXPECT_EQ(refusal({"ADMIN", "wrong", ""}), ErrorCode::kAccessDenied) << "one each six seconds";
  EXPECT_EQ(refusal({"ADMIN", "wrong", ""}), ErrorCode::kTooManyRequests);
  clock_.advance(WrongTries::kEach);
  for (int i = 0; i < 40; ++i) begin();  // Right ones do not count.
}

TEST_F(SessionsTest, ThreadsShareThem) {
  const std::string value = begin();
  std::vector<std::thread> threads;
  std::atomic<int> found = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const auto mine = sessions_.begin({"READER", "look", ""}, kHome);
        found += mine && sessions_.use(mine->value) && sessions_.end(mine->value) && sessions_.use(value) ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(found, 800);
  EXPECT_EQ(sessions_.size(), 1u);
}

TEST(WrongTries, AreBoundedForAllNetworksThatHaveTriedTogether) {
  WrongTries tries;
  const BootTime now{};
  for (int i = 0; i < WrongTries::kAtOnceOfAll; ++i) {
    const std::string address = "10.0.0." + std::to_string(i);
    EXPECT_EQ(tries.wait(address, now), nanoseconds(0)) << i;
    tries.count(address, now);
  }
  EXPECT_EQ(tries.wait("10.0.0.1", now), seconds(1));
  EXPECT_EQ(tries.wait("10.0.0.1", now + seconds(1)), nanoseconds(0));
}

TEST(WrongTries, KeepNobodyOutWhoHasMadeNone) {
  WrongTries tries;
  BootTime now{};
  for (int i = 0; i < 1000; ++i) {
    tries.count("10.0.0." + std::to_string(i % 200), now);
    EXPECT_EQ(tries.wait("10.9.9.9", now), nanoseconds(0));
  }
  tries.count("10.9.9.9", now);
  EXPECT_EQ(tries.wait("10.9.9.9", now), seconds(1));
  now += WrongTries::kEach;  // Its only try is forgiven.
  EXPECT_EQ(tries.wait("10.9.9.9", now), nanoseconds(0));
}

TEST(WrongTries, TakeTheFirst64BitsOfAnIpv6AddressForOneClient) {
  WrongTries tries;
  const BootTime now{};
  for (int i = 0; i < WrongTries::kAtOnce; ++i) tries.count("[2001:db8:1:2::" + std::to_string(i) + "]", now);
  EXPECT_EQ(tries.wait("2001:db8:1:2:ffff::1", now), WrongTries::kEach);
  EXPECT_EQ(tries.wait("[2001:db8:1:3::1]", now), nanoseconds(0));
  EXPECT_EQ(tries.networks(), 1u);
  tries.count("[::ffff:10.0.0.1]", now);
  tries.count("[::ffff:10.0.0.2]", now);
  EXPECT_EQ(tries.networks(), 3u) << "an IPv4 address is one client, however it is written";
  tries.count("10.0.0.1", now);
  EXPECT_EQ(tries.networks(), 3u);
}

TEST(WrongTries, RememberABoundedNumberOfNetworks) {
  WrongTries tries;
  const BootTime now{};
  for (size_t i = 0; i < 2 * WrongTries::kMostNetworks; ++i) tries.count(std::to_string(i), now);
  EXPECT_EQ(tries.networks(), WrongTries::kMostNetworks);
  tries.count("last", now + WrongTries::kEach);
  EXPECT_EQ(tries.networks(), 1u);
}

HttpRequest with_cookies(const std::vector<std::string>& headers) {
  HttpRequest request{"GET", "/queues", {{"Host", "h"}}, ""};
  for (const auto& one : headers) request.headers.emplace_back("cOOkie", one);
  return request;
}

TEST(SessionCookie, IsFoundAmongOthers) {
  const std::string name = session_cookie_name(7070, false);
  EXPECT_EQ(name, "freshet-session-7070");
  EXPECT_EQ(session_cookie_name(443, true), "__Host-freshet-session-443");
  const auto value = [&](const std::vector<std::string>& headers) {
    const HttpRequest request = with_cookies(headers);
    return std::string(session_cookie(request, name));
  };
  EXPECT_EQ(value({"freshet-session-7070=abc"}), "abc");
  EXPECT_EQ(value({"a=1; freshet-session-70700=no;  freshet-session-7070=abc ; freshet-session-707=no"}), "abc");
  EXPECT_EQ(value({"a=1", "freshet-session-7070=abc"}), "abc");
  EXPECT_EQ(value({"a=1; freshet-session-7071=abc"}), "");
  EXPECT_EQ(value({"x-freshet-session-7070=abc"}), "");
  EXPECT_EQ(value({"freshet-session-7070", "freshet-session-7070="}), "");
  EXPECT_EQ(value({"freshet-session-7070=abc; freshet-session-7070=def"}), "") << "two are ambiguous";
  EXPECT_EQ(value({"", ";;; ;", "="}), "");
}

TEST(SessionCookie, IsKeptFromScriptsAndOtherSites) {
  EXPECT_EQ(set_session_cookie("n", "v", false), "n=v; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(set_session_cookie("n", "v", true), "n=v; Path=/; HttpOnly; SameSite=Strict; Secure");
  EXPECT_EQ(remove_session_cookie("n", true), "n=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0");
}

}  // namespace
}  // namespace freshet
