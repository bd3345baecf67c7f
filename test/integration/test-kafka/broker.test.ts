import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { KafkaBroker } from "../../support/kafka/broker.ts";
import { useOwnKafka } from "../../support/kafka/use-kafka.ts";

const patience = { timeout: 60_000, interval: 50 };
const broker = useOwnKafka();

test("a client that comes through a proxy stays behind it", async () => {
  const topic = broker().unique("orders");
  await broker().topics.create(topic, { partitions: 2 });
  await broker().produce(topic, ["a", "b", "c"], { partition: 1 });
  const { port, upstream } = broker().proxied;
  let taken = 0;
  const proxy = createServer((client) => {
    taken++;
    const server = connect(upstream, "127.0.0.1");
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) socket.on("error", () => undefined);
  });
  await once(proxy.listen(port, "127.0.0.1"), "listening");
  try {
    const client = broker().client({ brokers: [`127.0.0.1:${port}`], protocol: "PLAINTEXT" });
    const admin = client.admin();
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    expect(brokers).toEqual([{ nodeId: 1, host: "127.0.0.1", port }]);
    expect(await admin.fetchTopicOffsets(topic)).toContainEqual({ partition: 1, low: "0", high: "3", offset: "3" });
    await admin.disconnect();
    expect(taken).toBeGreaterThan(0);
  } finally {
    proxy.close();
  }
});

test("a broker ends with the process that started it, also when that is killed", async () => {
  const program = fileURLToPath(new URL("../../support/kafka/broker-parent.ts", import.meta.url));
  const parent = fork(program, { execArgv: ["--import", "tsx"], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ pid, folder }] = (await once(parent, "message")) as [{ pid: number; folder: string }];
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await expect.poll(() => isAlive(pid), patience).toBe(false);
  await expect.poll(() => existsSync(folder), patience).toBe(false);
});

test.each([
  ["its properties", { "log.cleaner.io.buffer.size": "some" }, /Invalid value some for configuration log.cleaner.io/],
  ["its start", { "metric.reporters": "none.Such" }, /a node of Kafka ended while it started: .*none.Such/s],
])("a broker that fails at %s says why", async (_title, properties, reason) => {
  await expect(KafkaBroker.start({ properties })).rejects.toThrow(reason);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
