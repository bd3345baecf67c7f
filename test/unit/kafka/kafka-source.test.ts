import { connect, Socket } from "node:net";
import type { ISocketFactory } from "kafkajs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import { lossOf } from "../../../engine/delivery/recovery.ts";
import { claimText } from "../../../engine/sources/kafka/group/identity.ts";
import { FetchBuffer } from "../../../engine/sources/kafka/reading/fetch-buffer.ts";
import { KafkaSource, type KafkaSourceOptions } from "../../../engine/sources/kafka/kafka-source.ts";
import { Lag } from "../../../engine/sources/kafka/positions/lag.ts";
import { KafkaPositions } from "../../../engine/sources/kafka/positions/positions.ts";
import { Throttling } from "../../../engine/sources/kafka/brokers/throttling.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import type { StoreJournal } from "../../../engine/state/journal.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import type { Pause } from "../../../engine/core/pause.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { keptLog } from "../../support/engine.ts";
import { openJournal, type TestJournal } from "../../support/journal.ts";
import { codecs } from "./read.ts";
import { StandInCluster } from "./stand-in-cluster.ts";
import { fetched } from "./written.ts";

const own = { dataDir: "a".repeat(16), run: "11111111" };
const other = { dataDir: "b".repeat(16), run: "22222222" };
const signals = { leave: new AbortController().signal, drain: new AbortController().signal };

let opened: TestJournal;
let cluster: StandInCluster;
let journal: StoreJournal;
let told: [event: string, fields: Record<string, unknown>][];
let source: KafkaSource | undefined;

const telemetry = new Proxy({} as Telemetry, {
  get: (_target, event) => (fields: Record<string, unknown>) => void told.push([String(event), fields]),
});

beforeEach(async () => {
  opened = await openJournal();
  ({ journal } = opened);
  cluster = await StandInCluster.start();
  cluster.high = 1_000_000;
  told = [];
  source = undefined;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await source?.close();
  cluster.close();
  await opened.close();
});

function make(over: Partial<KafkaSourceOptions> = {}): KafkaSource {
  source = new KafkaSource({
    pipeline_id: "orders",
    connection: cluster.connection,
    topics: new Map([[cluster.topic, { start: "earliest", hasDedup: false }]]),
    replicas: 1,
    identity: { ...own, earlier: new Set() },
    options: { on_lost: "pause" },
    settings: defaultKafkaSettings,
    journal,
    telemetry,
    pause: new RetryPause("orders", telemetry),
    log: keptLog(),
    bufferBytes: 1_000_000,
    maxDelay: 1_000,
    ...over,
  });
  return source;
}

const fieldsOf = (event: string) => told.filter(([name]) => name === event).map(([, fields]) => fields);
const pauses = () => fieldsOf("paused").map(({ pause }) => (pause as Pause).class);

describe("how far a pipeline is behind", () => {
  test("is known before it is a member of its group, by what the brokers say of the ends", async () => {
    await make().open(signals);
    expect(fieldsOf("lag")).toMatchObject([{ pipeline_id: "orders", partitions: 0, lag: 1_000_000, uncommitted: 0 }]);
  });

  test("is known while the group belongs to another Sluice", async () => {
    await make().open(signals);
    await source!.close();
    cluster.committedBy = claimText(other, 0);
    const drain = new AbortController();
    const opening = make().open({ ...signals, drain: drain.signal });
    await vi.waitFor(() => expect(pauses()).toContain("owner"), 60_000);
    told = [];
    cluster.high = 1_500_000;
    const asked = cluster.offsetRequests;
    await vi.waitFor(() => expect(cluster.offsetRequests).toBeGreaterThan(asked), 60_000);
    const lag = { pipeline_id: "orders", partitions: 0, lag: 1_500_000, uncommitted: 0 };
    await vi.waitFor(() => expect(fieldsOf("lag").at(-1)).toMatchObject(lag), 60_000);
    drain.abort();
    await expect(opening).rejects.toThrow("was read in");
    await source!.close();
  });

  test("is unknown, and not 0, until the ends of all partitions are known", async () => {
    const positions = new KafkaPositions([cluster.topic], "orders", journal);
    positions.learn("c");
    const feeds = [1, 2].map((partition) => positions.feed(cluster.topic, partition));
    await positions.place(new Map(feeds.map((feed) => [feed, 10])));
    const lag = new Lag({
      pipeline_id: "orders",
      telemetry,
      positions,
      throttling: new Throttling(),
      onTurn: () => undefined,
    });
    lag.held(new Set(feeds));
    lag.end(feeds[0]!, 15);
    expect(fieldsOf("lag").every((fields) => !("lag" in fields))).toBe(true);
    lag.end(feeds[1]!, 30);
    expect(fieldsOf("lag").at(-1)).toMatchObject({ partitions: 2, lag: 25 });
    lag.stop();
  });
});

/** Fails so many connections in the way that a process does which may open no more files. */
function outOfFiles(times: number, how: "throws" | "says"): ISocketFactory {
  let left = times;
  return ({ host, port, onConnect }) => {
    if (left === 0) return connect(port, host, onConnect);
    left -= 1;
    const error = Object.assign(new Error(`connect EMFILE ${host}:${port}`), { code: "EMFILE" });
    if (how === "throws") throw error;
    const socket = new Socket();
    setImmediate(() => socket.destroy(error));
    return socket;
  };
}

test.each(["throws", "says"] as const)(
  "a connection for which no file may be opened %s so: that is a pause, which passes",
  async (how) => {
    await make({ socketFactory: outOfFiles(12, how) }).open(signals);
    expect(new Set(pauses())).toEqual(new Set(["source"]));
    expect(fieldsOf("pauseEnded")).toHaveLength(1);
  },
  30_000,
);

test("a buffer for nothing still takes one fetch after the other", () => {
  const buffer = new FetchBuffer(codecs, 0);
  expect(buffer.hasRoom).toBe(true);
  buffer.push("c/orders/3", 0, fetched(Buffer.alloc(10)));
  expect(buffer.hasRoom).toBe(false);
});

test("limits.memory below one fetch is said, and makes fetches smaller", async () => {
  const log = keptLog();
  await make({ bufferBytes: 0.5, log }).open(signals);
  expect(log.lines).toContainEqual(
    expect.objectContaining({ level: "warn", fields: { pipeline_id: "orders", bytes: 1, fetch: 262_144 } }),
  );
});

describe("whether its events may be written", () => {
  test("is not asked for as long as the process goes on", async () => {
    await make().open(signals);
    cluster.committedBy = claimText(other, 0);
    await source!.mayWrite();
    expect(fieldsOf("wasFrozen")).toEqual([]);
  });

  test.each(["monotonic", "wall"])("is asked for after a gap in the %s clock", async (clock) => {
    await make().open(signals);
    cluster.committedBy = claimText(other, 0);
    const [object, name] = clock === "wall" ? ([Date, "now"] as const) : ([performance, "now"] as const);
    const now = (object as { now: () => number }).now.bind(object);
    vi.spyOn(object as { now: () => number }, name).mockImplementation(() => now() + 40_000);
    let isWritten = false;
    const written = Promise.all([source!.mayWrite(), source!.mayWrite()]).then(() => (isWritten = true));
    await vi.waitFor(() => expect(pauses()).toEqual(["owner"]), 60_000);
    expect(isWritten).toBe(false);
    cluster.committedBy = "";
    await written;
    expect(fieldsOf("wasFrozen")).toHaveLength(1);
    await source!.mayWrite();
    expect(fieldsOf("wasFrozen")).toHaveLength(1);
  });
});

test("events of a pending batch that are gone are named with their partition and topic", () => {
  const ranges = [{ feed: `cluster/${cluster.topic}/2`, base: 0, first: 41, last: 90, count: 50 }];
  const record = { madeOf: { kind: "source", ranges } } as unknown as BatchRecord;
  expect(lossOf(record, 50, make()).text).toMatch(
    `50 events of the positions 41 to 90 of partition 2 of topic ${cluster.topic} are gone`,
  );
});
