import { connect } from "node:net";
import type { ISocketFactory } from "kafkajs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { Group } from "../../../engine/sources/kafka/group/group.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";
import { StandInCluster } from "./stand-in-cluster.ts";

let cluster: StandInCluster;
let brokers: Brokers;
let group: Group;

beforeEach(async () => {
  cluster = await StandInCluster.start();
  const client = kafkaClient(cluster.connection, "test", keptLog());
  brokers = new Brokers(client, defaultKafkaSettings);
  group = new Group(brokers, "g", [cluster.topic]);
});
afterEach(async () => {
  await brokers.close();
  cluster.close();
});

test.each([false, true])("a group is read, whatever other topics are not led: %s", async (hasOrphan) => {
  Object.assign(cluster, { hasOrphan, low: 5, high: 9, committed: 7 });
  const committed = { offset: 7, metadata: "", isByConsumer: false };
  const partitions = [{ feed: `${cluster.id}/orders/3`, ends: { low: 5, high: 9 }, committed }];
  expect(await group.read()).toEqual({ cluster: cluster.id, partitions, members: [], topicIds: new Map() });
});

test("a group is read in all topics of its pipeline", async () => {
  Object.assign(cluster, { others: ["returns"], low: 5, high: 9, committed: 7 });
  const both = new Group(brokers, "g", [cluster.topic, "returns"]);
  const stands = { ends: { low: 5, high: 9 }, committed: { offset: 7, metadata: "", isByConsumer: false } };
  const partitions = [cluster.topic, "returns"].map((topic) => ({ feed: `${cluster.id}/${topic}/3`, ...stands }));
  expect(await both.read()).toEqual({ cluster: cluster.id, partitions, members: [], topicIds: new Map() });
});

test("reaches its brokers by the connections that it is given", async () => {
  const opened: string[] = [];
  const factory: ISocketFactory = ({ host, port, onConnect }) => {
    opened.push(`${host}:${port}`);
    return connect(port, host, onConnect);
  };
  const client = kafkaClient(cluster.connection, "test", keptLog(), factory);
  const [admin, own] = [new Brokers(client, defaultKafkaSettings), new Brokers(client, defaultKafkaSettings)];
  const reader = new Group(admin, "g", ["orders"]);
  // The first node answers for the group. Which one is asked first of all is kafkajs's dice.
  cluster.leader = 2;
  try {
    await own.connect();
    await reader.read();
    expect(new Set(opened)).toEqual(new Set(cluster.connection.brokers));
    expect(opened).toHaveLength(cluster.connections);
  } finally {
    await Promise.all([admin.close(), own.close()]);
  }
});
