import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import Connection from "kafkajs/src/network/connection.js";
import { patchKafkajs } from "../../engine/sources/kafka/brokers/kafkajs-patches.ts";
import { clickHouseCase } from "./peers-clickhouse.ts";
import { gitCase, type GitRecord } from "./peers-git.ts";
import type { HttpRecord } from "./peers-http.ts";
import { kafkaCase, type KafkaRecord } from "./peers-kafka.ts";
import { KafkaRecording } from "./peers-kafka-broker.ts";
import type { Certificate } from "./peers-net.ts";

export type PeerName = "kafka" | "clickhouse" | "git";

/** What the true peers have answered. */
export interface PeerRecords {
  kafka?: KafkaRecord;
  clickhouse?: HttpRecord;
  git?: GitRecord;
  certificate: Certificate;
}

/** What is wrong, and the seed of its case. A `death` ends a thread of pipelines. */
export interface PeerFault {
  kind: "death" | "fault";
  seed: number;
  error: string;
}

/** Sent each second, and at the end. */
export interface PeerReport {
  isDone: boolean;
  answers: number;
  cases: number;
  /** The cases that go on, by their seeds. */
  open: number[];
  faults: PeerFault[];
  /** The most memory of this process, in MiB. */
  memory: number;
  /** The processor time of this process, in seconds. */
  seconds: number;
}

const given = process.argv.slice(2);
const [name, file, hasPlant] = [given[0] as PeerName, given[1]!, given[4] === "planted"];
const [seed, runs] = [Number(given[2]), Number(given[3])];
const records = JSON.parse(readFileSync(file, "utf8")) as PeerRecords;
/** So many cases go on at the same time: most of their time they wait. */
const atOnce = { kafka: 24, clickhouse: 16, git: 3 }[name];
/** Of these, it goes no further. */
const mostFaults = 20;

const current = new AsyncLocalStorage<number>();
const report: PeerReport = { isDone: false, answers: 0, cases: 0, open: [], faults: [], memory: 0, seconds: 0 };
const open = new Set<number>();

function fault(kind: PeerFault["kind"], of: number, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  report.faults.push({ kind, seed: of, error: text.slice(0, 2_000) });
  // What was planted is found.
  if (hasPlant && kind === "death") void send({ ...report, isDone: true }).then(() => process.exit(0));
}

for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => fault("death", current.getStore() ?? -1, error));
}

function send(message: PeerReport): Promise<void> {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  message.memory = Math.round(maxRSS / 1024);
  message.seconds = Math.round((userCPUTime + systemCPUTime) / 1e6);
  return new Promise((resolve) => process.send!({ ...message, open: [...open] }, () => resolve()));
}

const recording = new KafkaRecording(records.kafka?.exchanges ?? []);
const { certificate } = records;
const cases: Record<PeerName, (of: number) => Promise<number>> = {
  kafka: (of) => kafkaCase(records.kafka!, recording, certificate, of),
  clickhouse: (of) => clickHouseCase(records.clickhouse!, certificate, of),
  git: (of) => gitCase(records.git!, certificate, of),
};

if (hasPlant) {
  // As the library does it: without our patch it throws in the listener of its socket.
  const { processData } = Connection.prototype;
  patchKafkajs();
  Connection.prototype.processData = processData;
}

let next = 0;
async function work(): Promise<void> {
  while (report.answers < runs && report.faults.length < mostFaults) {
    const of = seed + next++;
    open.add(of);
    await current.run(of, async () => {
      try {
        const answers = await cases[name](of);
        report.answers += answers;
      } catch (error) {
        fault("fault", of, error);
      }
    });
    open.delete(of);
    report.cases += 1;
  }
}

const watch = setInterval(() => void send(report), 1_000);
await Promise.all(Array.from({ length: Math.min(atOnce, Math.max(1, runs)) }, work));
clearInterval(watch);
await send({ ...report, isDone: true });
process.exit(0);
