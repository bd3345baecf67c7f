import { Agent } from "node:http";
import { isIP, Socket } from "node:net";
import { domainToASCII } from "node:url";
import * as fc from "fast-check";
import type { Kafka } from "kafkajs";
import { beforeEach, expect, test } from "vitest";
import { checkTargets } from "../../engine/catalog/targets.ts";
import { EngineError } from "../../engine/index.ts";
import { TargetPolicy } from "../../engine/peers/targets.ts";
import { Connection } from "../../engine/sinks/clickhouse/transport/connection.ts";
import { kafkaClient } from "../../engine/sources/kafka/brokers/connection.ts";
import { parseRemote } from "../../reconciler/git/remote.ts";
import { SourceError } from "../../reconciler/git/revision.ts";
import { isPermitted, permissionsOf } from "../../reconciler/secrets/permissions.ts";
import type { KafkaConnection } from "../../schemas/pipeline.ts";
import { type Path, readHost, readReference, type Server, serversGetting, serversOf } from "../../schemas/index.ts";
import { keptLog } from "../support/engine.ts";
import { kafkaPipeline, webhookPipeline } from "../support/pipelines.ts";
import { seed, triesOf } from "./tries.ts";

/** The server that was checked is the server that is connected to, however it is spelled. */

const numRuns = triesOf(400);
const timeout = 120_000 + numRuns * 20;

const allowed = ".kafka.example.com";
const foreign = [
  "evil.example",
  "127.0.0.1",
  "[::1]",
  "127.1",
  "0x7f.1",
  "2130706433",
  "EMBEDDED",
  "embedded",
  "10.0.0.7",
];
const other = [
  "k-1",
  "[2001:DB8:0::5]",
  "::1",
  "fe80::1%eth0",
  "[::ffff:127.0.0.1]",
  "xn--a",
  "xn--kda",
  "a_b",
  "10.0",
];
const between = [
  ":",
  ":1:",
  ":9092",
  "@",
  "/",
  "\\",
  "#",
  "?",
  "%2f",
  "%40",
  "%00",
  "\0",
  "\t",
  "\n",
  " ",
  ".",
  "..",
  "。",
  "／",
  "\u00ad",
  "$${",
  ",",
  "[",
  "]",
  "-",
  "%",
];
const fragment = fc.oneof(
  fc.constantFrom(allowed, `k-1${allowed}`, `K-1${allowed.toUpperCase()}.`, ...foreign, ...other),
  fc.constantFrom(...between),
  fc.string({ maxLength: 3, unit: "binary" }),
);
/** Addresses, most of them with one thing too many, which most parsers read in some way. */
const host = fc.oneof(
  fc.array(fragment, { maxLength: 5 }).map((parts) => parts.join("")),
  fc.constantFrom(`k-1${allowed}`, `K-2${allowed.toUpperCase()}.`, ...foreign, ...other),
  fc
    .tuple(
      fc.constantFrom(...foreign, ...other),
      fc.constantFrom("", ...between),
      fc.constantFrom("", allowed, ...other),
    )
    .map((parts) => parts.join("")),
);
const port = fc.oneof(
  fc.constantFrom("9092", "09092", "1", "65535"),
  fc.constantFrom("0", "65536", "", "x", "1:2", " 1"),
);

/** A server as a client was about to connect to it. */
interface Connected {
  host: string;
  port: number;
}

/** What kafkajs connects to, as it is given to the sockets; undefined where it does not come so far. */
async function connectedByKafka(broker: string): Promise<Connected | undefined> {
  let connected: Connected | undefined;
  const params = {
    brokers: [broker],
    protocol: "PLAINTEXT",
    mechanism: "NO_AUTH",
    skip_tls_verification: false,
  } satisfies KafkaConnection;
  const kafka = kafkaClient(params, "fuzz", keptLog(), ({ host: name, port: at }) => {
    connected = { host: new TargetPolicy().check(name, at), port: at };
    return new Socket().destroy(new Error("it is known by now"));
  });
  await poolOf(kafka)
    .then((pool) => pool.getConnection())
    .then((connection) => connection.connect())
    .catch(() => undefined);
  return connected;
}

interface Pool {
  getConnection: () => Promise<{ connect: () => Promise<void> }>;
}

/** The connections to the first broker. */
function poolOf(kafka: Kafka): Promise<Pool> {
  const symbol = Object.getOwnPropertySymbols(kafka).find((one) => one.description?.includes("createCluster"))!;
  const create = (
    kafka as unknown as Record<symbol, (options: object) => { connectionPoolBuilder: { build: () => Promise<Pool> } }>
  )[symbol]!;
  return create.call(kafka, {}).connectionPoolBuilder.build();
}

/** What the client of ClickHouse connects to, as it is given to the sockets. */
async function connectedByClickHouse(
  params: ReturnType<typeof webhookPipeline>["sink"]["connection_params"],
): Promise<Connected | undefined> {
  let connected: Connected | undefined;
  const agent = Object.assign(new Agent(), {
    createConnection: (
      { host: name, port: at }: { host: string; port: number | string },
      done: (error: Error) => void,
    ) => {
      connected = { host: new TargetPolicy().check(name, Number(at)), port: Number(at) };
      done(new Error("it is known by now"));
    },
  });
  const connection = new Connection(params, { agent, compress: false });
  await connection.run("SELECT 1", { signal: new AbortController().signal }).catch(() => undefined);
  await connection.close();
  return connected;
}

const permissions = permissionsOf({ "${env:A}": `* towards *${allowed}` });

/** What was met: a property that only ever saw one kind of address would say nothing. */
const met = new Set<string>();
beforeEach(() => met.clear());

/** Checks what is said of a server against what was connected to. */
function compare(server: Server, connected: Connected | undefined, check: () => void): void {
  met.add(server.kind);
  if (server.kind === "unreadable") {
    expect(connected).toBeUndefined();
    expect(check).toThrow(EngineError);
  } else {
    expect(server).toMatchObject({ kind: "host", ...connected });
    if (connected !== undefined && isIP(connected.host) === 0)
      expect(domainToASCII(connected.host)).toBe(connected.host);
  }
  const isGiven = isPermitted(permissions, readReference("${env:A}")!, { pipeline_id: "p", servers: [server] });
  const isAllowed =
    connected !== undefined && isIP(connected.host) === 0 && connected.host.replace(/\.$/, "").endsWith(allowed);
  expect(isGiven).toBe(isAllowed);
  met.add(isGiven ? "given" : "refused");
}

const password = (part: string | number, ...rest: Path): Path => [part, ...rest, "connection_params", "password"];

test("of a broker", { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(host, port, async (name, at) => {
      const broker = `${name}:${at}`;
      const config = kafkaPipeline("p", {
        topic: "t",
        connection_params: { brokers: [broker], protocol: "PLAINTEXT" },
      });
      const [server] = serversOf(config);
      expect(serversGetting(config, password("sources", 0))).toEqual([server]);
      compare(server!, await connectedByKafka(broker), () => checkTargets(config, undefined));
    }),
    { numRuns, seed },
  );
  expect([...met].toSorted()).toEqual(["given", "host", "refused", "unreadable"]);
});

test("of a ClickHouse server", { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(host, port, async (name, http_port) => {
      const { sink } = webhookPipeline("p");
      const connection_params = { host: name, port: "9000", http_port, database: "d", username: "u", password: "x" };
      const config = webhookPipeline("p", { sink: { ...sink, connection_params } });
      const [server] = serversOf(config);
      expect(serversGetting(config, password("sink"))).toEqual([server]);
      if (server!.kind === "embedded") expect(name).toBe("embedded");
      else
        compare(server!, await connectedByClickHouse(config.sink.connection_params), () =>
          checkTargets(config, undefined),
        );
    }),
    { numRuns, seed },
  );
  expect([...met].toSorted()).toEqual(["given", "host", "refused", "unreadable"]);
});

test("of a schema registry", { timeout }, () => {
  fc.assert(
    fc.property(
      fc.constantFrom("https://", "http://", "", "ftp://"),
      host,
      port,
      fc.constantFrom("", "/", "/a/b", "/\\"),
      (scheme, name, at, path) => {
        const url = `${scheme}${name}${at === "" ? "" : `:${at}`}${path}`;
        const config = kafkaPipeline("p", {
          topic: "t",
          connection_params: { brokers: ["k:1"], protocol: "PLAINTEXT" },
          schema_registry: { url },
        });
        const [, server] = serversOf(config);
        const { hostname = "", protocol } = URL.canParse(url) ? new URL(url) : {};
        const number = URL.canParse(url) ? Number(new URL(url).port || (protocol === "https:" ? 443 : 80)) : 0;
        // No client of a registry is here: any is one for URLs.
        const connected =
          server!.kind === "host" ? { host: hostname.replace(/^\[|\]$/g, ""), port: number } : undefined;
        compare(server!, connected, () => checkTargets(config, undefined));
      },
    ),
    { numRuns, seed },
  );
  expect([...met].toSorted()).toEqual(["given", "host", "refused", "unreadable"]);
});

/** How Git finds the host of a URL of ssh or git, or of the short form: connect.c and url.c. */
function hostByGit(url: string): string {
  const [, scheme, rest = url] = /^([a-z]+):\/\/(.*)$/s.exec(url) ?? [];
  const decoded =
    scheme === undefined
      ? rest
      : rest.replaceAll(/%[0-9a-f]{2}/gi, (one) => String.fromCharCode(parseInt(one.slice(1), 16)));
  const start = decoded.startsWith("[") ? 0 : decoded.indexOf("@[") + 1;
  if (decoded[start] === "[") {
    const inside = decoded.slice(start + 1, decoded.indexOf("]", start));
    return inside.split(":").length > 2 ? inside : inside.replace(/:\d+$/, "");
  }
  const authority = decoded.split(scheme === undefined ? ":" : "/", 1)[0]!;
  // ssh takes what follows the last @.
  return authority.slice(authority.lastIndexOf("@") + 1).replace(/:\d*$/, "");
}

/** How curl finds the host of a URL, which Git gives it as it is. */
function hostByCurl(url: string): string {
  const authority = url.replace(/^[a-z]+:\/\//, "").split(/[/?#]/, 1)[0]!;
  return authority
    .slice(authority.lastIndexOf("@") + 1)
    .replace(/:\d*$/, "")
    .replace(/^\[|\]$/g, "");
}

test("of a Git server", { timeout }, () => {
  fc.assert(
    fc.property(
      fc.constantFrom("https://", "http://", "ssh://", "git://", ""),
      fc.oneof(
        fc.constant(""),
        fc.constantFrom("git@", "u%40evil.example%2f@", "-o@", "%2do@"),
        host.map((one) => `${one}@`),
      ),
      host,
      fc.oneof(
        fc.constant(""),
        port.map((one) => `:${one}`),
      ),
      (scheme, user, name, at) => {
        const text = scheme === "" ? `${user}${name}:a.git` : `${scheme}${user}${name}${at}/a.git`;
        let remote: ReturnType<typeof parseRemote>;
        try {
          remote = parseRemote(text);
        } catch (error) {
          expect(error).toBeInstanceOf(SourceError);
          met.add("unreadable");
          return;
        }
        if (remote.isFolder) return;
        met.add(/^([a-z]+):\/\//.exec(remote.url)?.[1] ?? "short");
        const connected = remote.url.startsWith("http") ? hostByCurl(remote.url) : hostByGit(remote.url);
        const read = remote.url.includes("://") ? new URL(remote.url).hostname.replace(/^\[|\]$/g, "") : connected;
        expect(readHost(connected)).toBe(readHost(read));
        expect(new TargetPolicy().check(connected, 22)).toBe(readHost(read));
      },
    ),
    { numRuns, seed },
  );
  expect([...met].toSorted()).toEqual(["git", "http", "https", "short", "ssh", "unreadable"]);
});
