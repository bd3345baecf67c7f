import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { endSharedClickHouse } from "../support/shared-clickhouse.ts";
import { attackAll } from "./attacks.ts";
import { allFaults, befallBrokers, kinds as brokerKinds, withBrokers } from "./brokers/rounds.ts";
import { testEveryCase } from "./cases.ts";
import { crash } from "./crash.ts";
import { Delivery } from "./delivery.ts";
import { broken, lineOf, missing, summaryOf } from "./delivery-report.ts";
import { killExternal } from "./external/kills.ts";
import { killKafka } from "./kafka-matrix.ts";
import { brokenByOutages, sufferOutages } from "./kafka-outages.ts";
import { type KafkaServers, withKafka } from "./kafka-servers.ts";
import { transcript } from "./on-call/transcript.ts";
import { lineOf as scoreLineOf, mutate, tooLittleFound } from "./mutants.ts";
import { killUnderExporters } from "./otlp-kills.ts";
import { brokenByKills } from "./otlp-report.ts";
import { brokenBy, suffer, tooMuchMemory } from "./outages.ts";
import { takeOverKafka } from "./owners/owners.ts";
import { plantFaults } from "./planted.ts";
import { brokenByPower, unseenByPower } from "./power/report.ts";
import { cutAllPower, failAllDisks } from "./power/rounds.ts";
import { reconcileFaults } from "./reconcile/suite.ts";
import { tableOf } from "./reconcile/table.ts";
import { brokenWhileReconciling, killWhileReconciling } from "./reconcile-kills.ts";
import { befallReplicas, replicatedFaults } from "./replicated/faults.ts";
import { withReplicas } from "./replicated/servers.ts";
import { brokenBySenders } from "./senders/report.ts";
import { strainSenders } from "./senders/strains.ts";
import { sweepSettings } from "./settings/sweep.ts";
import { brokenBySettings, linesOf } from "./settings/sweep-table.ts";
import { type Step, steps } from "./steps.ts";
import { killAppender } from "./stream-kills.ts";
import { variants } from "./variants.ts";

interface Options {
  /** Kills at random moments. */
  kills: number;
  /** Events of one run, where a run has an end. */
  events: number;
  /** Mutants of the sources. */
  mutants: number;
  seed: number;
}

interface Fault extends Omit<Options, "mutants" | "seed"> {
  mutants?: number;
  run: (options: Options) => Promise<boolean>;
}

/** The backlog within which a group of Kafka is taken over, as a share of the events of a run. */
const backlogShare = 0.4;

/** `npm run faults -- NAME`: the long forms. Each prints what it counted, and resolves with whether every promise was kept. */
const faults: Record<string, Fault> = {
  attacks: { kills: 0, events: 0, run: runAttacks },
  brokers: { kills: allFaults, events: 0, run: runBrokers },
  cases: { kills: 0, events: 0, run: runCases },
  crash: { kills: 50, events: 0, run: runCrash },
  delivery: { kills: 100, events: 0, run: runDelivery },
  disk: { kills: 100, events: 0, run: runDisk },
  external: { kills: 30, events: 0, run: runExternal },
  kafka: { kills: 30, events: 1_000_000, run: runKafka },
  "kafka-outages": { kills: 0, events: 0, run: runKafkaOutages },
  mutants: { kills: 0, events: 0, mutants: 300, run: runMutants },
  "on-call": { kills: 0, events: 0, run: runOnCall },
  otlp: { kills: 50, events: 0, run: runOtlp },
  outages: { kills: 0, events: 0, run: runOutages },
  power: { kills: 200, events: 0, run: runPower },
  planted: { kills: 0, events: 0, run: runPlanted },
  reconcile: { kills: 0, events: 0, run: runReconcile },
  "reconcile-kills": { kills: 200, events: 0, run: runReconcileKills },
  "reconcile-standby": { kills: 20, events: 0, run: runReconcileStandby },
  replicated: { kills: 15, events: 0, run: runReplicated },
  senders: { kills: 0, events: 0, run: runSenders },
  settings: { kills: 0, events: 0, run: runSettings },
  stream: { kills: 200, events: 0, run: runStream },
};

/** Prints what each attack cost its victim. */
async function runAttacks(): Promise<boolean> {
  const { figures, isWithstood } = await attackAll();
  for (const line of figures) console.log(line);
  return isUnbroken(isWithstood ? [] : ["an attack was not withstood: see above"]);
}

/** Kills are faults of three brokers, of all kinds together. FAULTS_ONLY, a pattern, picks kinds by their names. */
async function runBrokers({ kills, seed }: Options): Promise<boolean> {
  const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");
  const picked = brokerKinds.filter(({ name: title }) => only.test(title));
  const options = { faults: kills, seed, log: (line: string) => console.log(line) };
  return isUnbroken(await withBrokers((servers) => befallBrokers(picked, servers, options)));
}

async function runCases(): Promise<boolean> {
  return isUnbroken(testEveryCase() ? [] : ["a test failed: see above"]);
}

async function runCrash({ kills }: Options): Promise<boolean> {
  const report = await crash({ kills, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  const { lost, doubled, strangers, dropped, replayed } = report;
  const isWhole = lost.length + doubled.length + strangers.length === 0;
  if (!isWhole) console.log("BROKEN: events were lost, doubled or invented");
  if (replayed === 0 || dropped === 0) console.log("BROKEN: no insert was repeated and dropped, so nothing was tested");
  return isWhole && replayed > 0 && dropped > 0;
}

/** Each step for each pipeline, then random kills of all of them. */
async function runDelivery({ kills, seed }: Options): Promise<boolean> {
  const delivery = await Delivery.start(seed, variants);
  const reports: Awaited<ReturnType<Delivery["killAt"]>>[] = [];
  try {
    for (const variant of variants) {
      for (const step of Object.keys(steps) as Step[]) {
        reports.push(await delivery.killAt(step, variant));
        console.log(lineOf(reports.at(-1)!));
      }
    }
    const random = await delivery.killAtRandom(kills, (line) => console.log(line));
    for (const report of random) console.log(lineOf(report));
    reports.push(...random);
  } finally {
    await delivery.clean();
  }
  for (const line of summaryOf(reports)) console.log(line);
  const unseen = missing(reports);
  for (const what of unseen) console.log(`BROKEN: ${what}`);
  return unseen.length === 0 && reports.every((report) => broken(report).length === 0);
}

async function runExternal(options: Options): Promise<boolean> {
  const kills = { ...options, log: (line: string) => console.log(line) };
  return isUnbroken(await withKafka(({ kafka }) => killExternal(kafka, kills)));
}

/** The crash matrix, then take-overs and late errors. FAULTS_ONLY, a pattern, picks some by their names. */
async function runKafka(options: Options): Promise<boolean> {
  const given = { ...options, log: (line: string) => console.log(line) };
  const kill = async (servers: KafkaServers): Promise<string[]> => [
    ...(await killKafka(servers, given)),
    ...(await takeOverKafka(servers, { ...given, events: Math.ceil(options.events * backlogShare) })),
  ];
  return isUnbroken(await withKafka(kill, { clusters: 2 }));
}

async function runKafkaOutages(): Promise<boolean> {
  const hard = { each: 90_000, cut: false, log: (line: string) => console.log(line) };
  const report = await withKafka((servers) => sufferOutages({ ...servers, ...hard }));
  console.log(JSON.stringify(report, undefined, 2));
  return isUnbroken([...brokenByOutages(report), ...tooMuchMemory(report)]);
}

/** Prints the mutants that survive, and the score of each room. */
async function runMutants(options: Options): Promise<boolean> {
  const scores = await mutate({ ...options, log: (line) => console.log(line) });
  for (const score of scores) console.log(scoreLineOf(score));
  return isUnbroken(tooLittleFound(scores));
}

/** Prints what an on-call sees of each situation. FAULTS_ONLY, a pattern, picks some by their names. */
async function runOnCall(): Promise<boolean> {
  return isUnbroken(await transcript((text) => console.log(text), process.env["FAULTS_ONLY"]));
}

async function runOtlp(options: Options): Promise<boolean> {
  const { dropped, reports } = await killUnderExporters({ ...options, log: (line) => console.log(line) });
  console.log(JSON.stringify({ dropped, reports }, undefined, 2));
  return isUnbroken(brokenByKills(reports));
}

async function runOutages(): Promise<boolean> {
  const report = await suffer({ each: 90_000, cut: false, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  return isUnbroken([...brokenBy(report), ...tooMuchMemory(report)]);
}

/** FAULTS_ONLY picks faults by a part of their names. */
async function runPlanted(): Promise<boolean> {
  const only = process.env["FAULTS_ONLY"] ?? "";
  const found = await plantFaults({ only, log: (line) => console.log(line) });
  return isUnbroken(found.flatMap(({ fault, by }) => (by === undefined ? [`${fault}: no test finds it`] : [])));
}

/** Kills are power cuts. FAULTS_ONLY, a pattern, picks rounds by their names. */
async function runPower({ kills: failures, seed }: Options): Promise<boolean> {
  const reports = await cutAllPower({ failures, seed, log: (line) => console.log(line) });
  return isUnbroken([...brokenByPower(reports), ...unseenByPower(reports)]);
}

/** Kills are failures of a disk. FAULTS_ONLY, a pattern, picks rounds by their names. */
async function runDisk({ kills: failures, seed }: Options): Promise<boolean> {
  const reports = await failAllDisks({ failures, seed, log: (line) => console.log(line) });
  return isUnbroken(brokenByPower(reports));
}

async function runReconcile(): Promise<boolean> {
  const hard = { lasting: 3_000, announced: false, patience: 15_000, files: 10_001, commits: 100 };
  const { verdicts, events } = await reconcileFaults({ ...hard, log: ({ name }) => console.log(`${name}: over`) });
  console.log(tableOf(verdicts));
  const problems = verdicts.flatMap(({ name, broken: texts }) => texts.map((text) => `${name}: ${text}`));
  if (events.lost + events.doubled + events.leaked.length > 0)
    problems.push("events were lost or doubled, or a secret leaked");
  console.log(`${verdicts.length} faults, ${problems.length} promises broken; events: ${JSON.stringify(events)}`);
  return isUnbroken(problems);
}

/** 50 pipelines, and one change of each in every commit. */
async function runReconcileKills({ kills, seed }: Options): Promise<boolean> {
  return reconcileKills({ kills, seed, ofEach: 5 });
}

async function runReconcileStandby({ kills, seed }: Options): Promise<boolean> {
  return reconcileKills({ kills, seed, ofEach: 1, withStandby: true });
}

async function reconcileKills(options: Parameters<typeof killWhileReconciling>[0]): Promise<boolean> {
  const report = await killWhileReconciling({ ...options, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  return isUnbroken(brokenWhileReconciling(report));
}

/** FAULTS_ONLY, a pattern, picks some by their path and strain, such as `direct, kills`. */
async function runSenders(): Promise<boolean> {
  const fates = await strainSenders(new RegExp(process.env["FAULTS_ONLY"] ?? ""), (line) => console.log(line));
  return isUnbroken(brokenBySenders(fates));
}

/** Prints each setting that changed anything. FAULTS_ONLY, a pattern, picks some by their names. */
async function runSettings(): Promise<boolean> {
  const only = process.env["FAULTS_ONLY"];
  const picked = only === undefined ? {} : { only: new RegExp(only) };
  const report = await sweepSettings({ log: (line) => console.log(line), ...picked });
  for (const line of linesOf(report)) console.log(line);
  return isUnbroken(brokenBySettings(report, only === undefined));
}

/** Prints what came of each fault of Replicated tables. FAULTS_ONLY, a pattern, picks some by their names. */
async function runReplicated({ kills, seed }: Options): Promise<boolean> {
  const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");
  const picked = replicatedFaults.filter(({ name: title }) => only.test(title));
  const options = { kills, seed, log: (line: string) => console.log(line) };
  return isUnbroken(await withReplicas((servers) => befallReplicas(picked, servers, options)));
}

async function runStream(options: Options): Promise<boolean> {
  const report = await killAppender({ ...options, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  return isUnbroken(report.broken);
}

function isUnbroken(problems: readonly string[]): boolean {
  for (const problem of problems) console.log(`BROKEN: ${problem}`);
  return problems.length === 0;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: "string" },
    events: { type: "string" },
    mutants: { type: "string" },
    seed: { type: "string" },
  },
});
const [name = ""] = positionals;
const fault = Object.hasOwn(faults, name) ? faults[name] : undefined;
const kills = Number(values.kills ?? fault?.kills);
const events = Number(values.events ?? fault?.events);
const mutants = Number(values.mutants ?? fault?.mutants ?? 0);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
if (fault === undefined || ![kills, events, mutants, seed].every(Number.isInteger)) {
  const names = Object.keys(faults).join(", ");
  const options = "[--kills N] [--events N] [--mutants N] [--seed N]";
  console.error(`usage: npm run faults -- NAME ${options}, where NAME is one of: ${names}`);
  process.exitCode = 1;
} else {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  const counts = `--kills ${kills} --events ${events}${mutants === 0 ? "" : ` --mutants ${mutants}`}`;
  console.log(`faults -- ${name} ${counts} --seed ${seed}`);
  process.exitCode = (await fault.run({ kills, events, mutants, seed })) ? 0 : 1;
  await endSharedClickHouse();
}
