/** @module-tag rest */
import { fork } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { certificates } from "../support/kafka/certificates.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { startClickHouse } from "../support/clickhouse.ts";
import { GitRepository } from "../support/git-repository.ts";
import { serveHttp } from "../support/git-server.ts";
import { goodPipeline } from "../support/pipeline-file.ts";
import type { PeerName, PeerRecords, PeerReport } from "./peers-child.ts";
import { creation, statementName, useClickHouse } from "./peers-clickhouse.ts";
import { fetchFrom, gitName, textsOf } from "./peers-git.ts";
import { recordHttp } from "./peers-http-record.ts";
import { recordKafka } from "./peers-kafka.ts";
import { isLongForm, seed, triesOf } from "./tries.ts";

/** Answers. */
const runs = triesOf(24);
/** `FUZZ_PEER` names one of them: a case is repeated by its seed with `FUZZ_RUNS=1`. */
const only = process.env["FUZZ_PEER"];

/** The share of each peer. A fetch by git takes several processes. */
const shares: Record<PeerName, number> = { kafka: 0.5, clickhouse: 0.485, git: 0.015 };
/** Milliseconds without a word, after which a process is taken to hang; and the most memory in the long form, in MiB. */
const [patience, mostMemory] = [60_000, 1_200];
const messages = 60;

const kafka = useKafka({ wantsLogin: true });
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-peers-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes what the true peer has answered; resolves with the file. */
async function recorded(records: Omit<PeerRecords, "certificate">): Promise<string> {
  const both = await readFile((await certificates()).files.server, "utf8");
  const file = join(folder, "records.json");
  await writeFile(file, JSON.stringify({ ...records, certificate: { cert: both, key: both } }));
  return file;
}

interface Wanted {
  file: string;
  count: number;
  isPlanted?: boolean;
}

/** The work is done in a process of its own, which can be killed where it hangs. */
function fuzz(name: PeerName, { file, count, isPlanted = false }: Wanted): Promise<PeerReport> {
  const given = [name, file, `${seed}`, `${count}`, isPlanted ? "planted" : ""];
  const child = fork(new URL("peers-child.ts", import.meta.url), given, { execArgv: ["--import", "tsx"] });
  let last: PeerReport | undefined;
  return new Promise<PeerReport>((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new Error(`${name}: the process ${why}; open: ${last?.open.join(", ")}`));
    const watch = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`says nothing for ${patience} ms`);
    }, patience);
    child.on("message", (message: PeerReport) => {
      watch.refresh();
      last = message;
      if (message.isDone) resolve(message);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(watch);
      fail(`ended with ${signal ?? code}`);
    });
  });
}

function mustBeSound(name: PeerName, { faults, answers, cases, memory, seconds }: PeerReport, count: number): void {
  const told = faults.map(
    (fault) => `FUZZ_PEER=${name} FUZZ_SEED=${fault.seed} FUZZ_RUNS=1: ${fault.kind}: ${fault.error}`,
  );
  console.log(
    `${name}: ${answers} mutated answers in ${cases} cases from seed ${seed}: ${faults.length} faults; at most ${memory} MiB, ${seconds} s of a core`,
  );
  expect(told, told.join("\n")).toEqual([]);
  expect(answers).toBeGreaterThanOrEqual(count);
  if (isLongForm) expect(memory).toBeLessThan(mostMemory);
}

const countOf = (name: PeerName): number =>
  runs === 1 ? 1 : Math.ceil(runs * (only === undefined ? shares[name] : 1));
const options = { timeout: 300_000 + runs * 100 };

test.skipIf(only !== undefined && only !== "kafka")(
  "a broker that mutates its answers ends no thread and leaves no source stuck",
  options,
  async () => {
    const topic = kafka().unique("peers");
    await kafka().topics.create(topic, { partitions: 2 });
    const values = Array.from({ length: messages }, (_, at) => JSON.stringify({ id: at, text: "x".repeat(at) }));
    for (const partition of [0, 1]) {
      await kafka().produce(topic, values.slice(partition * 30, partition * 30 + 30), { partition });
    }
    const connection = { ...kafka().connectionParams("SASL_PLAINTEXT", "PLAIN"), skip_tls_verification: false };
    const record = await recordKafka(connection as never, topic, messages);
    expect(record.values.toSorted()).toEqual(values.toSorted());
    const file = await recorded({ kafka: record });
    // What it finds where a guard is missing: else it would find nothing at all.
    if (isLongForm && runs > 1) {
      // Without a guard of ours a thread dies, or reads the same bytes for ever: else the cases would test nothing.
      const planted = fuzz("kafka", { file, count: 1_000, isPlanted: true });
      const found = await planted.then(
        ({ faults }) => faults.map(({ kind }) => kind),
        () => ["hang"],
      );
      expect(["death", "hang"]).toContain(found.at(-1));
    }
    mustBeSound("kafka", await fuzz("kafka", { file, count: countOf("kafka") }), countOf("kafka"));
  },
);

test.skipIf(only !== undefined && only !== "clickhouse")(
  "a ClickHouse that mutates its answers ends no thread and no pipeline, and its sink recovers",
  options,
  async () => {
    const server = await startClickHouse();
    try {
      await server.query("CREATE DATABASE d");
      await server.query(creation);
      const { url, record, close } = await recordHttp(server.url, statementName);
      await useClickHouse({ ...server, url });
      close();
      const file = await recorded({ clickhouse: record });
      mustBeSound(
        "clickhouse",
        await fuzz("clickhouse", { file, count: countOf("clickhouse") }),
        countOf("clickhouse"),
      );
    } finally {
      await server.stop();
    }
  },
);

test.skipIf(only !== undefined && only !== "git")(
  "a Git server that mutates its answers is refused, or read as its commits say",
  options,
  async () => {
    const origin = await GitRepository.create();
    try {
      const sha = await origin.commit({ "pipelines/orders.yaml": goodPipeline, "readme.md": "x".repeat(5_000) });
      const server = await serveHttp(origin.path);
      const { url, record, close } = await recordHttp(server.url, gitName);
      const { pathname: path } = new URL(server.url);
      const revision = await fetchFrom(`${url}${path}`, process.env, (repository) =>
        repository.fetch(new AbortController().signal),
      );
      close();
      await server.close();
      const file = await recorded({ git: { record, path, sha, files: textsOf(revision) } });
      mustBeSound("git", await fuzz("git", { file, count: countOf("git") }), countOf("git"));
    } finally {
      await origin.remove();
    }
  },
);
