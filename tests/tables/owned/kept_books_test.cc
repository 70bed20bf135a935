#include "tables/owned/kept_books.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

KeptBooks::Place at(const char* status, uint64_t bytes = 10) {
  return {status, bytes};
}

uint64_t stock(const KeptBooks& books, const char* status) {
  const auto there = books.books().stock.find(status);
  return there == books.books().stock.end() ? 0 : there->second;
}

void expect_balance(const KeptBooks& books) {
  const auto balance = check_balance(books.books());
  EXPECT_TRUE(balance) << balance.error().message;
}

TEST(KeptBooks, FollowsTheMovesOfThisProcess) {
  KeptBooks books;
  books.begin_count();
  books.end_count();
  books.moved(1, {}, at("PENDING"), Cause::kQueue);
  books.moved(2, {}, at("PENDING"), Cause::kQueue);
  books.moved(1, at("PENDING"), at("TAKEN", 30), Cause::kQueue);
  books.moved(1, at("TAKEN", 30), {}, Cause::kQueue);
  EXPECT_EQ(stock(books, "PENDING"), 1u);
  EXPECT_EQ(stock(books, "TAKEN"), 0u);
  EXPECT_EQ(books.books().bytes.at("PENDING"), 10u);
  EXPECT_EQ(books.books().flow.at({"PENDING", "TAKEN", Cause::kQueue}), 1u);
  EXPECT_FALSE(books.is_doubted());
  expect_balance(books);
}

TEST(KeptBooks, AnItemCountsOnceHoweverItsWritesAndTheCountMeet) {
  KeptBooks books;
  books.begin_count();
  // Written before the count meets it.
  books.moved(1, at("PENDING"), at("TAKEN"), Cause::kQueue);
  books.counted(1, at("PENDING"));
  // Written after.
  books.counted(2, at("PENDING"));
  books.moved(2, at("PENDING"), at("TAKEN"), Cause::kQueue);
  // While it is written; the page may show it before or after that.
  books.sent(3);
  books.counted(3, at("TAKEN"));
  books.moved(3, at("PENDING"), at("TAKEN"), Cause::kQueue);
  books.over(3, at("TAKEN"));
  // The write is refused.
  books.sent(4);
  books.counted(4, at("PENDING"));
  books.over(4, at("PENDING"));
  // Twice in the pages of a count.
  books.counted(5, at("PENDING"));
  books.counted(5, at("PENDING"));
  // Removed before the count meets it.
  books.moved(6, at("PENDING"), {}, Cause::kQueue);
  books.counted(6, at("PENDING"));
  books.end_count();
  EXPECT_EQ(stock(books, "PENDING"), 2u);
  EXPECT_EQ(stock(books, "TAKEN"), 3u);
  expect_balance(books);
}

TEST(KeptBooks, WhatOthersWroteShowsAtTheNextCount) {
  KeptBooks books;
  books.begin_count();
  books.end_count();
  books.moved(1, {}, at("PENDING"), Cause::kQueue);
  // A client put this one, and the queue takes it.
  books.moved(2, at("PENDING"), at("TAKEN"), Cause::kQueue);
  books.moved(1, at("PENDING"), at("TAKEN"), Cause::kQueue);
  EXPECT_TRUE(books.is_doubted()) << "there was one more than it knew";
  expect_balance(books);
  books.begin_count();
  books.counted(1, at("TAKEN"));
  books.counted(2, at("TAKEN"));
  books.counted(3, at("DONE"));
  books.end_count();
  EXPECT_EQ(stock(books, "TAKEN"), 2u);
  EXPECT_EQ(stock(books, "DONE"), 1u);
  EXPECT_EQ(books.books().flow.at({"", "DONE", Cause::kClient}), 1u);
  EXPECT_FALSE(books.is_doubted());
  expect_balance(books);
}

TEST(KeptBooks, ACountWaitsForTheWritesThatItMet) {
  KeptBooks books;
  books.begin_count();
  books.sent(1);
  books.sent(2);
  books.counted(1, at("TAKEN"));
  books.counted(2, at("PENDING"));
  books.end_count();
  EXPECT_TRUE(books.is_counting());
  books.moved(1, at("PENDING"), at("TAKEN"), Cause::kQueue);
  books.over(1, at("TAKEN"));
  EXPECT_TRUE(books.is_counting());
  books.over(2, std::nullopt);
  EXPECT_FALSE(books.is_counting());
  EXPECT_EQ(stock(books, "TAKEN"), 1u);
  EXPECT_EQ(stock(books, "PENDING"), 1u);
  EXPECT_TRUE(books.is_doubted()) << "nobody knows what became of the second one";
  expect_balance(books);
}

}  // namespace
}  // namespace freshet
