import { describe, expect, test } from "vitest";
import { canonicalBroker, readBrokerAddress, hostsOf } from "../../../schemas/index.ts";
import { kafka } from "../../../engine/sources/kafka/kind.ts";
import { kafkaPipeline } from "../../support/pipelines.ts";

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

test("the hosts that are allowed, and that get a secret, are those that are connected to", () => {
  const brokers = ["KAFKA.example.com.:9092", "[::1]:9094", "no address"];
  const config = kafkaPipeline("p", { topic: "t", connection_params: { brokers, protocol: "PLAINTEXT" } });
  const [source] = config.sources;
  if (source?.type !== "kafka") throw new Error("expected a Kafka source");
  const password = ["sources", 0, "connection_params", "password"];
  expect(hostsOf(config, password)).toEqual(["kafka.example.com", "::1", "no address"]);
  expect(kafka.serversOf(source)).toEqual([
    { field: "connection_params.brokers", host: "kafka.example.com.", port: 9092 },
    { field: "connection_params.brokers", host: "::1", port: 9094 },
  ]);
});
