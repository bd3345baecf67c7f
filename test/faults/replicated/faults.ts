import { setTimeout as sleep } from "node:timers/promises";
import { type Fate, pass } from "../../support/clickhouse-proxy.ts";
import { serverSteps } from "../external/server-steps.ts";
import { type Step, steps } from "../steps.ts";
import { brokenBy, heading, lineOf, type ReplicatedReport, type Sights } from "./report.ts";
import { ReplicatedScene, type SceneOptions } from "./scene.ts";
import { type ReplicatedServers, sessionTimeout } from "./servers.ts";
import type { TableOptions } from "./table.ts";

export interface FaultOptions {
  /** Kills at random moments, and outages, of each row. */
  kills: number;
  seed: number;
}

/** One row of the table: what is done to a scene, and what must be met meanwhile. */
export interface ReplicatedFault extends Omit<SceneOptions, "servers" | "seed"> {
  /** Servers with the table; one by default. */
  servers?: 1 | 2;
  befall: (scene: ReplicatedScene, servers: ReplicatedServers, options: FaultOptions) => Promise<void>;
  sights: (report: ReplicatedReport) => Sights;
}

/** Names of ClickHouse's errors. */
const quorumFailure = "UNKNOWN_STATUS_OF_INSERT";
const readOnly = "TABLE_IS_READ_ONLY";
const notInitialised = "NOT_INITIALIZED";

const whole: TableOptions = { isReplicated: true };
const partitioned: TableOptions = { isReplicated: true, partitionBy: "n % 4" };
/** It has the smallest window that Sluice relies on. The rows of the other writer are in partitions of their own. */
const forgetful: TableOptions = { isReplicated: true, partitionBy: "intDiv(n, 1000000)", window: 100 };
const million = 1_000_000;
/** Inserts of the other writer: half of that window is not passed, or more than the whole. */
const [few, many] = [40, 150];

/** Kills Sluice at every step of a batch and a server at every step of an insert; then anything at random moments. */
async function killAll(scene: ReplicatedScene, { servers }: ReplicatedServers, { kills }: FaultOptions): Promise<void> {
  scene.beginLoad();
  for (const step of Object.keys(steps) as Step[]) if (step !== "after trim") await scene.killSluiceAt(step);
  for (const step of serverSteps) await scene.killServerAt(step, servers[0]);
  for (let kill = 0; kill < kills; kill += 1) await scene.killAtRandom();
  await scene.writing();
}

const seenByKills = ({ replayed, repeated, dropped, uncertain }: ReplicatedReport): Sights => ({
  "batches of an earlier process": replayed > 0,
  "inserts that were sent again": repeated > 0,
  "repeats that the server dropped": dropped > 0,
  "that each repeat was recognised": uncertain === 0,
});

/** Again and again an insert finds a ZooKeeper that is away for longer than a session lasts. */
async function loseSessions(
  scene: ReplicatedScene,
  { kills }: FaultOptions,
  zooKeeper: { leave: () => Promise<void> | void; comeBack: () => Promise<void> | void },
): Promise<void> {
  scene.beginLoad();
  for (let times = 0; times < Math.ceil(kills / 3); times += 1) {
    await scene.writing();
    // The server itself repeats an insert while Keeper fails: every other time it may not, and the insert fails.
    const parameters: Record<string, string> = times % 2 === 0 ? { insert_keeper_max_retries: "0" } : {};
    let isMet = false;
    scene.proxy.decideInserts(async () => {
      if (!isMet) await zooKeeper.leave();
      isMet = true;
      return { kind: "pass", parameters };
    });
    await scene.until("to insert while ZooKeeper is away", () => isMet);
    await sleep(2 * sessionTimeout);
    await zooKeeper.comeBack();
    await scene.writing();
    scene.proxy.decide();
  }
}

const seenWithoutKeeper = ({ repeated, failures, uncertain }: ReplicatedReport): Sights => ({
  "inserts that were sent again": repeated > 0,
  "inserts that failed": Object.keys(failures).length > 0,
  "that each repeat was recognised": uncertain === 0,
});

/** The answer to an insert is lost, and something happens before Sluice looks at the table again. */
async function whileUncertain(scene: ReplicatedScene, meanwhile: () => Promise<void>): Promise<void> {
  const lost = scene.loseAnswer();
  await scene.post(10);
  await lost;
  await meanwhile();
  scene.goOn();
}

async function insertMany({ table }: ReplicatedScene): Promise<void> {
  await table.insertAsAnother(many, million);
  await table.forgets(million);
}

/** A partition of which more inserts are counted than the window holds goes, so that the sum of them hides the others. */
async function insertAndDrop(
  scene: ReplicatedScene,
  inserts: (scene: ReplicatedScene) => Promise<void>,
): Promise<void> {
  await scene.table.insertAsAnother(2 * many, 2 * million);
  await whileUncertain(scene, async () => {
    await inserts(scene);
    await scene.table.dropPartition("2", (n) => n === 2 * million);
  });
}

const recognised = ({ repeated, uncertain, dropped }: ReplicatedReport): Sights => ({
  "an insert that was sent again": repeated > 0,
  "a repeat that the server dropped": dropped > 0,
  "that it was recognised": uncertain === 0,
});

const counted = ({ uncertain }: ReplicatedReport): Sights => ({
  "a batch that was counted as uncertain": uncertain > 0,
});

/** Every third insert is carried out and its answer lost, until the scene has had so many. */
async function loseAnswers(scene: ReplicatedScene, answers: number): Promise<void> {
  let inserts = 0;
  scene.proxy.decideInserts((): Fate => (++inserts % 3 === 0 ? { kind: "lose" } : pass));
  await scene.until("to lose answers", () => scene.proxy.inserts("lose").length >= answers);
  scene.proxy.decide();
  await scene.writing();
}

export const replicatedFaults: readonly ReplicatedFault[] = [
  ...[whole, partitioned].map((table) => ({
    name: `Sluice and ClickHouse are killed, ${table.partitionBy === undefined ? "one partition" : "4 partitions"}`,
    table,
    inserts: 2,
    befall: killAll,
    sights: seenByKills,
  })),
  {
    name: "ZooKeeper stands still beyond the session, within inserts",
    table: partitioned,
    inserts: 2,
    befall: (scene, { zooKeeper }, options) =>
      loseSessions(scene, options, { leave: () => zooKeeper.freeze(), comeBack: () => zooKeeper.thaw() }),
    sights: seenWithoutKeeper,
  },
  {
    name: "ZooKeeper is killed and started again, within inserts",
    table: partitioned,
    inserts: 2,
    befall: (scene, { zooKeeper }, options) =>
      loseSessions(scene, options, { leave: () => zooKeeper.kill(), comeBack: () => zooKeeper.restart() }),
    sights: seenWithoutKeeper,
  },
  {
    name: "others insert less than half a window while an insert is uncertain",
    table: forgetful,
    befall: (scene) => whileUncertain(scene, () => scene.table.insertAsAnother(few, million)),
    sights: recognised,
  },
  ...(["insert", "skip"] as const).map((on_uncertain) => ({
    name: `others insert more than a window meanwhile, on_uncertain: ${on_uncertain}`,
    table: forgetful,
    on_uncertain,
    befall: (scene: ReplicatedScene) => whileUncertain(scene, () => insertMany(scene)),
    sights: counted,
  })),
  {
    name: "insert_quorum = 2, which no other replica can meet, until it is lifted",
    table: partitioned,
    servers: 2,
    befall: async (scene) => {
      scene.proxy.decideInserts(() => ({
        kind: "pass",
        parameters: { insert_quorum: "2", insert_quorum_timeout: "500" },
      }));
      await scene.post(100);
      await scene.until("to fail of the quorum", async () => ((await scene.failures())[quorumFailure] ?? 0) >= 3);
      scene.proxy.decide();
    },
    sights: (report) => ({
      ...recognised(report),
      "an insert whose quorum was not met": (report.failures[quorumFailure] ?? 0) > 0,
    }),
  },
  {
    name: "a replica is read-only, as ZooKeeper is away; then ClickHouse starts",
    table: partitioned,
    befall: async (scene, { zooKeeper, servers: [server] }) => {
      const fails = async (error: string): Promise<boolean> => ((await scene.failures())[error] ?? 0) > 0;
      scene.beginLoad();
      await scene.writing();
      await zooKeeper.kill();
      await scene.until("to find the table read-only", () => fails(readOnly));
      await scene.table.sampleDropped();
      await server.kill();
      await server.restart();
      await scene.until("to find the table without a replica", () => fails(notInitialised));
      await zooKeeper.restart();
      await scene.writing();
    },
    sights: ({ failures, uncertain }) => ({
      "an insert that a read-only replica refused": (failures[readOnly] ?? 0) > 0,
      "an insert that a replica refused which has no ZooKeeper yet": (failures[notInitialised] ?? 0) > 0,
      "that each repeat was recognised": uncertain === 0,
    }),
  },
  {
    name: "two replicas behind one address: answers are lost",
    table: partitioned,
    servers: 2,
    isAlternating: true,
    inserts: 2,
    befall: async (scene, _servers, { kills }) => {
      scene.beginLoad();
      await loseAnswers(scene, kills);
    },
    sights: recognised,
  },
  {
    name: "two replicas behind one address: Sluice and ClickHouse are killed",
    table: whole,
    servers: 2,
    isAlternating: true,
    inserts: 2,
    befall: killAll,
    sights: seenByKills,
  },
  ...(["insert", "skip"] as const).map((on_uncertain) => ({
    name: `two tables that are not replicated behind one address, on_uncertain: ${on_uncertain}`,
    table: { isReplicated: false },
    servers: 2 as const,
    isAlternating: true,
    inserts: 2,
    on_uncertain,
    befall: async (scene: ReplicatedScene, _servers: ReplicatedServers, { kills }: FaultOptions) => {
      scene.beginLoad();
      await scene.until("to find that several servers answer", () => scene.isAtLeastOnce());
      await loseAnswers(scene, kills);
    },
    sights: (report: ReplicatedReport) => ({ ...counted(report), AtLeastOnce: report.isAtLeastOnce }),
  })),
  {
    name: "a partition is dropped while an insert is uncertain, others insert little",
    table: forgetful,
    befall: (scene) => insertAndDrop(scene, ({ table }) => table.insertAsAnother(few, million)),
    sights: recognised,
  },
  ...(["insert", "skip"] as const).map((on_uncertain) => ({
    name: `a partition is dropped, others insert more than a window, on_uncertain: ${on_uncertain}`,
    table: forgetful,
    on_uncertain,
    befall: (scene: ReplicatedScene) => insertAndDrop(scene, insertMany),
    sights: counted,
  })),
  {
    name: "the partition of the uncertain insert itself is dropped: its rows come again",
    table: forgetful,
    befall: (scene) => whileUncertain(scene, () => scene.table.dropPartition("0", (n) => n < million)),
    sights: ({ repeated }) => ({ "an insert that was sent again": repeated > 0 }),
  },
];

/** Plays faults one after the other. Resolves with what must not be, and is. */
export async function befallReplicas(
  faults: readonly ReplicatedFault[],
  servers: ReplicatedServers,
  { log, ...options }: FaultOptions & { log: (line: string) => void },
): Promise<string[]> {
  const problems: string[] = [];
  log(heading);
  for (const fault of faults) {
    try {
      const report = await befall(fault, servers, options);
      const own = brokenBy(report, fault.sights(report));
      log(lineOf(report, own));
      problems.push(...own);
    } catch (error) {
      const { message } = error as Error;
      log(`${fault.name}: BROKEN`);
      problems.push(`${fault.name}: ${message}`);
    }
  }
  return problems;
}

/** Plays one fault; resolves with what came of it. */
export async function befall(
  { befall: act, servers: count = 1, sights: _sights, ...scene }: ReplicatedFault,
  servers: ReplicatedServers,
  options: FaultOptions,
): Promise<ReplicatedReport> {
  const behind = servers.servers.slice(0, count);
  const made = await ReplicatedScene.start({ ...scene, servers: behind, seed: options.seed });
  try {
    await act(made, servers, options);
    return await made.report();
  } finally {
    await made.clean();
  }
}
