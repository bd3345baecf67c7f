import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { freeListeners, pipelineFile, token, tokenEnv, Workplace } from "../../support/daemon.ts";
import { changedIn } from "../../support/pipeline-file.ts";
import { freeAddress } from "../../support/ports.ts";
import { type Doors, type ProxyName, startProxy } from "../../support/reverse-proxy.ts";
import { GrpcSender, logs } from "../../integration/otlp/senders.ts";
import type { Kind } from "./kinds.ts";
import { type Load, Sender } from "./sender.ts";

export type Path = "direct" | ProxyName;

/** What befalls the receiver while they send, and how much they send. */
export interface Strain {
  name: string;
  load: Load;
  /** All kinds send at once; else one after the other. */
  together: boolean;
  /** How the receiver is ended while they send, and how often. It is started again at once. */
  ends?: { signal: "SIGTERM" | "SIGKILL"; times: number };
}

/** What became of the exports of one kind. */
export interface Fate {
  path: Path;
  strain: string;
  kind: string;
  /** By the word of the sender. */
  accepted: number;
  refused: number;
  /** What it was told of the last one that was refused. */
  refusal: string;
  requests: number;
  /** Requests without an answer that the sender took for one: no refusal came, and it does not say accepted. */
  unanswered: number;
  /** Requests that were skipped, as their sender had gone; absent where the receiver was started again meanwhile. */
  skipped?: number;
  /** Exports as they are in the table, each as often as it was stored, without those that were accepted. */
  copies: number;
  /** Exports that were accepted and are not there in full. */
  lost: number;
  /** Exports of which a part is there. */
  parts: number;
}

const exportsPipeline = "sender-exports";
const eventsPipeline = "sender-events";

const exportsFile = `version: v3
pipeline_id: ${exportsPipeline}
sources:
  - { type: otlp.logs, source_id: input }
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: sender_exports
  mapping:
    - { name: attributes, column_name: attributes, column_type: "Map(LowCardinality(String), String)" }
  max_batch_size: 500000
  max_delay_time: 50ms
x-sluice: { create_table: true }
`;

const eventsFile = changedIn(
  pipelineFile(eventsPipeline),
  "{ name: id, type: string }",
  "{ name: sender, type: string }",
  "{ name: n, type: int }",
  "{ name: export, type: string }",
  "{ name: id, column_name: id,",
  "{ name: sender, column_name: sender,",
  "{ name: n, column_name: n, column_type: Int32 }",
  "{ name: export, column_name: export, column_type: String }",
);

/** Milliseconds that a receiver works between two ends, and in which a sender has to get on. */
const between = 2_000;

/** Lets programs of these kinds send through a path while something befalls the receiver; then counts. */
export async function strain(path: Path, given: Strain, kinds: readonly Kind[]): Promise<Fate[]> {
  const place = await Workplace.make();
  let proxy: Awaited<ReturnType<typeof startProxy>> | undefined;
  try {
    await place.write("exports.yaml", exportsFile);
    await place.write("events.yaml", eventsFile);
    const listeners = { ...(await freeListeners()), otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
    const receiver = await Receiver.start(place, listeners);
    const doors: Doors = { events: listeners.events, otlp: listeners.otlpHttp, grpc: listeners.otlpGrpc };
    const folder = join(place.path, "proxy");
    await mkdir(folder);
    if (path !== "direct") proxy = await startProxy(path, doors, folder);
    const to = proxy ?? doors;
    const fates: Fate[] = [];
    for (const group of given.together ? [kinds] : kinds.map((kind) => [kind]))
      fates.push(...(await sendAll(path, given, group, receiver, to)));
    await receiver.daemon.stop();
    return fates;
  } finally {
    await proxy?.end();
    await place.clean();
  }
}

/** The process that receives, which is ended and started again. */
class Receiver {
  daemon: Daemon;
  readonly #place: Workplace;
  readonly #listeners: Daemon["listeners"];

  private constructor(place: Workplace, listeners: Daemon["listeners"], daemon: Daemon) {
    this.#place = place;
    this.#listeners = listeners;
    this.daemon = daemon;
  }

  static async start(place: Workplace, listeners: Daemon["listeners"]): Promise<Receiver> {
    const daemon = await place.start({ listeners, env: tokenEnv });
    for (const id of [exportsPipeline, eventsPipeline]) await daemon.until(() => daemon.health(id), "to have it");
    // gRPC and the thread that decodes are loaded with the first request.
    const sender = new GrpcSender(listeners.otlpGrpc!);
    await sender.send("logs", { "x-sluice-pipeline-id": exportsPipeline }, logs(1));
    sender.close();
    return new Receiver(place, listeners, daemon);
  }

  async restart(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await this.daemon.stop(signal);
    this.daemon = await this.#place.start({ listeners: this.#listeners, env: tokenEnv });
  }

  /** Requests that were skipped since it was started. */
  async skipped(): Promise<number> {
    const text = await this.daemon.get<string>("/metrics");
    const counts = text.matchAll(/^sluice_push_refusals_total\{.*reason="gone".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** How often each export is in the tables, by sender, as a count of records. */
  async stored(): Promise<Map<string, Map<string, number>>> {
    for (const id of [exportsPipeline, eventsPipeline]) await this.daemon.settled(id);
    const query = `
      SELECT attributes['sender'] AS sender, attributes['export'] AS export, count() FROM sender_exports
      WHERE sender != '' GROUP BY sender, export
      UNION ALL SELECT sender, export, count() FROM sender_events GROUP BY sender, export FORMAT TSV`;
    const found = new Map<string, Map<string, number>>();
    for (const line of (await this.daemon.command("sql", query)).split("\n").filter((text) => text !== "")) {
      const [sender = "", name = "", count] = line.split("\t");
      const own = found.get(sender) ?? new Map<string, number>();
      found.set(sender, own.set(name, Number(count)));
    }
    return found;
  }
}

async function sendAll(
  path: Path,
  { name, load, ends }: Strain,
  kinds: readonly Kind[],
  receiver: Receiver,
  to: Doors,
): Promise<Fate[]> {
  const skippedBefore = await receiver.skipped();
  const start = (kind: Kind): Promise<Sender> => {
    const pipeline_id = kind.door === "events" ? eventsPipeline : exportsPipeline;
    return Sender.start(kind, { door: to[kind.door], pipeline_id, load, token });
  };
  const senders: Sender[] = [];
  try {
    for (const kind of kinds) senders.push(await start(kind));
    for (let end = 0; end < (ends?.times ?? 0); end += 1) {
      await getOn(senders);
      await receiver.restart(ends!.signal);
    }
    if (ends !== undefined) await getOn(senders);
    await Promise.all(senders.map((sender) => sender.end()));
    const stored = await receiver.stored();
    const skipped = ends === undefined ? { skipped: (await receiver.skipped()) - skippedBefore } : {};
    const shared = kinds.length > 1 ? {} : skipped;
    return senders.map((sender) => ({
      path,
      strain: name,
      ...fateOf(sender, stored.get(sender.kind.name) ?? new Map<string, number>(), load.records),
      ...shared,
    }));
  } finally {
    for (const sender of senders) sender.kill();
  }
}

/** Resolves when each has had two more results, and some time has passed. */
async function getOn(senders: readonly Sender[]): Promise<void> {
  const before = senders.map(({ lines }) => lines);
  await sleep(between);
  while (senders.some(({ lines, hasEnded }, index) => !hasEnded && lines < before[index]! + 2)) await sleep(50);
}

function fateOf(
  { kind, accepted, refused, exchanges }: Sender,
  rows: ReadonlyMap<string, number>,
  records: number,
): Omit<Fate, "path" | "strain"> {
  // An event of a webhook is one row, however long it is.
  const whole = kind.door === "events" ? 1 : records;
  const copies = [...rows.values()].reduce((sum, count) => sum + Math.floor(count / whole), 0) - accepted.size;
  return {
    kind: kind.name,
    accepted: accepted.size,
    refused: refused.size,
    refusal: [...refused.values()].at(-1) ?? "",
    requests: exchanges.requests,
    unanswered: exchanges.requests - exchanges.refusals - accepted.size,
    copies,
    lost: [...accepted].filter((name) => (rows.get(name) ?? 0) < whole).length,
    parts: [...rows.values()].filter((count) => count % whole !== 0).length,
  };
}
