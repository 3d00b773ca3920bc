#include "wire/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace kb {
namespace {

using std::chrono::milliseconds;

TEST(Channel, CarriesJsonAndDescriptors) {
  auto pair = Channel::Pair();
  ASSERT_TRUE(pair);
  Channel other(std::move(pair->second));
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  Fd reading(pipe_ends[0]), writing(pipe_ends[1]);
  ASSERT_TRUE(pair->first.Send({{"op", "hello"}, {"bytes", std::string("\xff\xfe")}}, {writing.get()}));
  auto message = other.Receive(milliseconds(1000));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->body["op"], "hello");
  ASSERT_EQ(message->fds.size(), 1u);
  ASSERT_EQ(write(message->fds[0].get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(reading.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST(Channel, TellsClosedTimedOutAndMalformedApart) {
  auto pair = Channel::Pair();
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->first.Receive(milliseconds(10)).error(), ReceiveFailure::kTimedOut);
  const uint32_t size = 3;
  char bytes[7] = {0, 0, 0, 0, '{', '{', '{'};
  std::memcpy(bytes, &size, sizeof size);
  ASSERT_EQ(send(pair->second.get(), bytes, sizeof bytes, 0), 7);
  EXPECT_EQ(pair->first.Receive(milliseconds(1000)).error(), ReceiveFailure::kMalformed);
  const uint32_t huge = 0xffffffff;
  ASSERT_EQ(send(pair->second.get(), &huge, sizeof huge, 0), 4);
  EXPECT_EQ(pair->first.Receive(milliseconds(1000)).error(), ReceiveFailure::kMalformed);
  pair->second.Reset();
  EXPECT_EQ(pair->first.Receive(milliseconds(1000)).error(), ReceiveFailure::kClosed);
  EXPECT_FALSE(pair->first.Send({{"op", "x"}}));
}

}  // namespace
}  // namespace kb
