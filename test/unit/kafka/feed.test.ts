import { expect, test } from "vitest";
import { kafkaFeed, kafkaPartition } from "../../../engine/sources/kafka/positions/feed.ts";

test.each([
  { cluster: "abc", topic: "orders.eu", partition: 0 },
  { cluster: "abc", topic: "orders.eu", partition: 120, id: "q1Bz" },
])("a feed names its partition: %o", (partition) => {
  expect(kafkaPartition(kafkaFeed(partition))).toEqual(partition);
});

test.each([
  "",
  "orders",
  "file:%2Fvar%2Flog%2Fapp.log",
  "/var/log/app.log",
  "var/log/",
  "a/b/-1",
  "a/b/1.5",
  "a/b/1/c/d",
])("%o is no feed of Kafka", (feed) => {
  expect(kafkaPartition(feed)).toBeUndefined();
});
