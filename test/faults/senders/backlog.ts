import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { protoRoot } from "../../../engine/sources/otlp/proto/messages-text.ts";
import { freeListeners, Workplace } from "../../support/daemon.ts";
import { freeAddress } from "../../support/ports.ts";
import { GrpcSender, protobufType } from "../../integration/otlp/senders.ts";

export type Transport = "http" | "grpc";

export interface BacklogOptions {
  transport: Transport;
  /** At once. */
  senders: number;
  /** Milliseconds after which a sender takes its request for lost, and sends it again. */
  timeout: number;
  /** Records of a request; each is about 450 bytes. */
  records: number;
  /** Milliseconds after which a sender gives up for good. */
  givesUpAfter: number;
}

/** What became of the requests of all senders, each of which sends one. */
export interface BacklogReport {
  /** Requests that were acknowledged, and those that were given up. */
  acknowledged: number;
  givenUp: number;
  /** Times that a request got no answer, and that it was refused as too much waits. */
  unanswered: number;
  busy: number;
  /** Requests as they are in the table: each of them as often as it was stored. */
  copies: number;
  /** Acknowledged requests that are not there in full. */
  lost: number;
  seconds: number;
}

/** Anything else that is answered is a fault of these senders. */
type Answer = "acknowledged" | "busy" | "unanswered";

/** Between two tries after one without an answer, in milliseconds. */
const untilAgain = 1_000;

const root = await protoRoot();
const LogsRequest = root.lookupType("opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest");

const pipeline_id = "backlog";

/** Its stream holds the backlog of all senders, with copies. */
const file = `version: v3
pipeline_id: backlog
sources:
  - { type: otlp.logs, source_id: input }
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: backlog
  mapping:
    - { name: attributes, column_name: attributes, column_type: "Map(LowCardinality(String), String)" }
  max_batch_size: 500000
  max_delay_time: 50ms
x-sluice: { create_table: true }
`;

const countBySender =
  "SELECT attributes['sender'] AS sender, count() FROM backlog WHERE sender != 'warm' GROUP BY sender FORMAT TSV";

/** Senders that all send their backlog at once, as Collectors do after an outage: each one request until it is answered. */
export async function sendBacklog(options: BacklogOptions): Promise<BacklogReport> {
  const place = await Workplace.make();
  try {
    await place.write("backlog.yaml", file);
    const otlp = { otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
    const daemon = await place.start({ listeners: { ...(await freeListeners()), ...otlp } });
    await daemon.until(() => daemon.health(pipeline_id), "to have it");
    await warm(otlp.otlpGrpc);
    const began = performance.now();
    const tallies = await Promise.all(
      Array.from({ length: options.senders }, (_, sender) => deliver(sender, otlp, options)),
    );
    const seconds = (performance.now() - began) / 1000;
    await daemon.settled(pipeline_id);
    const table = await daemon.command("sql", countBySender);
    const rows = table.split("\n").map((line) => line.split("\t") as [sender: string, n: string]);
    await daemon.stop();
    return { ...countsOf(tallies, rows, options.records), seconds };
  } finally {
    await place.clean();
  }
}

interface Tally {
  isAcknowledged: boolean;
  unanswered: number;
  busy: number;
}

function countsOf(
  tallies: readonly Tally[],
  rows: readonly [sender: string, n: string][],
  records: number,
): Omit<BacklogReport, "seconds"> {
  const found = new Map(rows.map(([sender, n]) => [Number(sender), Number(n)]));
  const sum = (of: (tally: Tally) => number): number => tallies.reduce((total, tally) => total + of(tally), 0);
  const lost = tallies.filter(({ isAcknowledged }, sender) => isAcknowledged && (found.get(sender) ?? 0) < records);
  return {
    acknowledged: sum(({ isAcknowledged }) => Number(isAcknowledged)),
    givenUp: sum(({ isAcknowledged }) => Number(!isAcknowledged)),
    unanswered: sum(({ unanswered }) => unanswered),
    busy: sum(({ busy }) => busy),
    copies: [...found.values()].reduce((total, n) => total + n, 0) / records,
    lost: lost.length,
  };
}

async function deliver(
  sender: number,
  otlp: { otlpGrpc: string; otlpHttp: string },
  { transport, timeout, records, givesUpAfter }: BacklogOptions,
): Promise<Tally> {
  const body = requestOf(String(sender), records);
  const send = transport === "http" ? overHttp(otlp.otlpHttp) : overGrpc(otlp.otlpGrpc);
  const tally = { isAcknowledged: false, unanswered: 0, busy: 0 };
  const until = performance.now() + givesUpAfter;
  while (!tally.isAcknowledged && performance.now() < until) {
    const answer = await send.send(body, timeout);
    if (answer === "acknowledged") tally.isAcknowledged = true;
    else {
      tally[answer] += 1;
      await sleep(untilAgain);
    }
  }
  send.close();
  return tally;
}

interface Exporter {
  send(body: Buffer, timeout: number): Promise<Answer>;
  close(): void;
}

function overHttp(address: string): Exporter {
  const headers = { ...protobufType, "x-sluice-pipeline-id": pipeline_id };
  const send = (body: Buffer, timeout: number): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(`http://${address}/v1/logs`, { method: "POST", headers, agent: false }, (response) => {
        const { statusCode } = response.resume();
        clearTimeout(timer);
        if (statusCode === 200) resolve("acknowledged");
        else if (statusCode === 429) resolve("busy");
        else reject(new Error(`unexpected answer: HTTP ${statusCode}`));
      });
      const timer = setTimeout(() => sent.destroy(), timeout);
      sent.on("error", () => resolve("unanswered"));
      sent.end(body);
    });
  return { send, close: () => undefined };
}

const unanswered: ReadonlySet<status> = new Set([status.DEADLINE_EXCEEDED, status.UNAVAILABLE]);

const asItIs = (bytes: Buffer): Buffer => bytes;

function overGrpc(address: string): Exporter {
  const client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  const metadata = new Metadata();
  metadata.set("x-sluice-pipeline-id", pipeline_id);
  const path = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
  const send = (body: Buffer, timeout: number): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeout };
      client.makeUnaryRequest(path, asItIs, asItIs, body, metadata, options, (error) => {
        if (error === null) resolve("acknowledged");
        else if (error.code === status.RESOURCE_EXHAUSTED) resolve("busy");
        else if (unanswered.has(error.code)) resolve("unanswered");
        else reject(error);
      });
    });
  return { send, close: () => client.close() };
}

/** gRPC and the thread that decodes are loaded with the first request. */
async function warm(address: string): Promise<void> {
  const sender = new GrpcSender(address);
  await sender.send("logs", { "x-sluice-pipeline-id": pipeline_id }, requestOf("warm", 200));
  sender.close();
}

function requestOf(sender: string, records: number): Buffer {
  const attributes = [
    { key: "sender", value: { stringValue: sender } },
    { key: "text", value: { stringValue: "x".repeat(400) } },
  ];
  const logRecords = Array.from({ length: records }, () => ({ attributes }));
  const message = LogsRequest.fromObject({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  return Buffer.from(LogsRequest.encode(message).finish());
}
