import type { lookup } from "node:dns";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterEach, expect, test, vi } from "vitest";
import { TargetPolicy } from "../../../engine/peers/targets.ts";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { socketsWithin } from "../../../engine/sources/kafka/brokers/sockets.ts";
import { keptLog } from "../../support/engine.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { readiness } from "./readiness.ts";

vi.setConfig({ testTimeout: 60_000 });

const kafka = useKafka({ wantsLogin: true });

const passing: Server[] = [];
afterEach(() => {
  for (const server of passing.splice(0)) server.close();
});

/** Passes on what comes to an address of this machine; resolves with its port. */
async function passingTo(port: number, host: string): Promise<number> {
  const server = createServer((client) => {
    const broker = connect(port, "127.0.0.1");
    client.on("error", () => broker.destroy()).pipe(broker);
    broker.on("error", () => client.destroy()).pipe(client);
  });
  passing.push(server);
  server.listen(0, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each(["127.0.0.1", "LocalHost"])("brokers are reached as %s, also with TLS", async (host) => {
  for (const protocol of ["PLAINTEXT", "SASL_SSL"] as const) {
    const params = kafka().connectionParams(protocol);
    const [, port] = params.brokers[0]!.split(":");
    expect(await readiness(kafka(), { ...params, brokers: [`${host}:${port}`] })).toEqual({ kind: "ready" });
  }
});

test("a name with the dot of the root is resolved with it, and checked without it", async () => {
  const params = kafka().connectionParams("SASL_SSL");
  const resolved: string[] = [];
  const resolve = ((name: string, _options: object, done: (error: null, found: object[]) => void) => {
    resolved.push(name);
    done(null, [{ address: "127.0.0.1", family: 4 }]);
  }) as unknown as typeof lookup;
  const given = { ...params, brokers: [params.brokers[0]!.replace("127.0.0.1", "localhost.")] };
  const client = kafkaClient(given as never, "test", keptLog(), socketsWithin(new TargetPolicy({}, resolve)));
  const brokers = new Brokers(client, defaultKafkaSettings);
  await brokers.connect();
  expect(resolved).toEqual(["localhost."]);
  await brokers.close();
});

/** Those of this machine; link-local ones with their zone. */
const ofIPv6 = Object.entries(networkInterfaces()).flatMap(([zone, all = []]) =>
  all
    .filter(({ family, internal, address }) => family === "IPv6" && (internal || address.startsWith("fe80:")))
    .map(({ address, internal }) => (internal ? address : `${address}%${zone}`)),
);

test.each(ofIPv6)("brokers are reached as [%s]", async (host) => {
  const params = kafka().connectionParams();
  const port = await passingTo(Number(params.brokers[0]!.split(":")[1]), host);
  expect(await readiness(kafka(), { ...params, brokers: [`[${host}]:${port}`] })).toEqual({ kind: "ready" });
});
