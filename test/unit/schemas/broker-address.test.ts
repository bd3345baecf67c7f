import { describe, expect, test } from "vitest";
import { canonicalBroker, readBrokerAddress } from "../../../schemas/index.ts";

describe("an address of a broker", () => {
  test.each<[string, string, number]>([
    ["kafka-1:9092", "kafka-1", 9092],
    ["Kafka_1.Data.SVC:65535", "kafka_1.data.svc", 65_535],
    ["kafka.example.com.:1", "kafka.example.com.", 1],
    ["10.0.0.7:09092", "10.0.0.7", 9092],
    ["[::1]:9092", "::1", 9092],
    ["[2001:DB8:0:0::5]:9092", "2001:db8::5", 9092],
    ["[FE80::1%eth0]:9092", "fe80::1%eth0", 9092],
  ])("%s is a host and a port", (text, host, port) => {
    expect(readBrokerAddress(text)).toEqual({ host, port });
  });

  test.each([
    "",
    "kafka",
    "kafka:",
    ":9092",
    "kafka:0",
    "kafka:65536",
    "kafka:70000",
    "kafka:-1",
    "kafka:9092 ",
    " kafka:9092",
    "kafka :9092",
    "kafka:9092\n",
    "kafka..example:9092",
    ".:9092",
    "PLAINTEXT://kafka:9092",
    "kafka:9092/",
    "ada@kafka:9092",
    "::1",
    "::1:9092",
    "[::1]",
    "[::1]9092",
    "[::1",
    "[127.0.0.1]:9092",
    "[kafka]:9092",
    "[]:9092",
    "[::g]:9092",
    "[::1%]:9092",
    "kafka-1:9092,kafka-2:9092",
    "127.0.0.1:47002:.kafka.example.com",
    "127.1:9092",
    "0x7f000001:9092",
    "2130706433:9092",
    "127.0.0.1.:9092",
    "evil.example\0.kafka.example.com:9092",
    "evil.example\u3002kafka.example.com:9092",
    "xn--a.kafka.example.com:9092",
  ])("%j is none", (text) => {
    expect(readBrokerAddress(text)).toBeUndefined();
  });

  test.each([
    ["Kafka.example.com.:9092", "kafka.example.com:9092"],
    ["kafka:09092", "kafka:9092"],
    ["[0:0:0:0:0:0:0:1]:9092", "[::1]:9092"],
    ["[FE80::1%eth0]:9092", "[fe80::1%eth0]:9092"],
    [" no address ", "no address"],
  ])("%s is the same as %s", (text, same) => {
    expect(canonicalBroker(text)).toBe(same);
    expect(canonicalBroker(same)).toBe(same);
  });
});
