// The query protocol's reader and the writer of its answers.
#include "wire/sns/query_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/sns/xml.h"

namespace freshet::sns {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(QueryFormTest, ReadsFields) {
  const auto form = QueryForm::parse("Action=Publish&Message=a+b%26c%3D%C3%A4&Empty=&Bare&&=x");
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text("Action"), "Publish");
  EXPECT_EQ(form->text("Message"), "a b&c=ä");
  ASSERT_TRUE(form->find("Empty"));
  EXPECT_EQ(*form->find("Empty"), "");
  EXPECT_EQ(*form->find("Bare"), "");
  EXPECT_EQ(form->find("Missing"), nullptr);
}

TEST(QueryFormTest, ListsAreInOrderOfTheirNumbers) {
  const auto form =
      QueryForm::parse("T.member.10.Key=j&T.member.2.Key=b&T.member.2.Value=c&T.member.x=1&T.memberless=2&U.1=u");
  ASSERT_TRUE(form);
  EXPECT_THAT(form->entries("T.member"), ElementsAre("T.member.2", "T.member.10"));
  EXPECT_THAT(form->entries("U"), ElementsAre("U.1"));
  EXPECT_THAT(form->entries("V"), IsEmpty());
}

TEST(QueryFormTest, RefusesWhatIsBroken) {
  const auto error = [](const std::string& text) {
    const auto form = QueryForm::parse(text);
    return form ? std::string() : form.error().message;
  };
  EXPECT_EQ(error("a=%4"), "A parameter has a broken % sequence");
  EXPECT_EQ(error("a=%zz"), "A parameter has a broken % sequence");
  EXPECT_EQ(error("a=%FF"), "A parameter is not valid UTF-8");
  EXPECT_EQ(error("a=1&a=2"), "The parameter a is given twice");
  std::string many;
  for (size_t i = 0; i <= kMaxFields; ++i) many += "f" + std::to_string(i) + "=&";
  EXPECT_EQ(error(many), "More than 2000 parameters");
}

TEST(XmlTest, EscapesEverything) {
  XmlWriter xml;
  xml.element("M", "<a b=\"c\" d='e'>&\r\n\t\x01\xFFx\xED\xA0\x80ä\xEF\xBF\xBF</a>");
  EXPECT_EQ(xml.take(),
            "<M>&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;&#xD;\n\t\xEF\xBF\xBD\xEF\xBF\xBDx"
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDä\xEF\xBF\xBD&lt;/a&gt;</M>");
}

TEST(XmlTest, ErrorsSayWhoseFaultTheyAre) {
  EXPECT_EQ(error_document(404, "NotFound", "a<b", "id"),
            "<ErrorResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><Error><Type>Sender</Type>"
            "<Code>NotFound</Code><Message>a&lt;b</Message></Error><RequestId>id</RequestId></ErrorResponse>");
  EXPECT_NE(error_document(500, "InternalError", "", "id").find("<Type>Receiver</Type>"), std::string::npos);
}

}  // namespace
}  // namespace freshet::sns
