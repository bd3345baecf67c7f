import { Random } from "../../support/random.ts";
import type { KafkaServers } from "../kafka-servers.ts";
import { quick } from "../kafka-subject.ts";
import {
  brokenByLateError,
  type Edited,
  LateErrors,
  type LateErrorReport,
  lateErrors,
  type LateError,
} from "./late-errors.ts";
import { brokenBy, type FirstOwner, takeOver, type TakeOverReport } from "./take-overs.ts";

export interface OwnersOptions {
  /** Events of the backlog in which a group is taken over. */
  events: number;
  seed: number;
  log: (line: string) => void;
}

interface TakeOverRow {
  name: string;
  first: FirstOwner;
  flags: readonly string[];
}

/** Names the rows of the run, such as `frozen`; all by default. */
const only = new RegExp(process.env["FAULTS_ONLY"] ?? "");
const repeats = 5;

/** With quick heartbeats a group is given away within a moment; the usual ones leave the first owner seconds to go on. */
const takeOvers: readonly TakeOverRow[] = [
  { name: "frozen owner, quick", first: "stands still", flags: quick },
  { name: "live owner, quick", first: "works on", flags: quick },
  { name: "live owner", first: "works on", flags: [] },
  { name: "killed owner, quick", first: "killed", flags: quick },
  { name: "stopped owner", first: "stopped", flags: [] },
];

/** A group that another Sluice takes over within a backlog, and errors that come late. Resolves with what must not be, and is. */
export async function takeOverKafka(servers: KafkaServers, options: OwnersOptions): Promise<string[]> {
  return [...(await takeAllOver(servers, options)), ...(await meetLateErrors(servers, options.log))];
}

async function takeAllOver(servers: KafkaServers, { events, seed, log }: OwnersOptions): Promise<string[]> {
  const rows = takeOvers.filter(({ name }) => only.test(name));
  if (rows.length === 0) return [];
  const backlog = { topic: servers.kafka.unique("backlog"), events };
  await servers.kafka.topics.create(backlog.topic, { partitions: 6 });
  await servers.kafka.produce(backlog.topic, eventsOf(events));
  const problems: string[] = [];
  log(headingOfTakeOvers);
  for (const { name, first, flags } of rows) {
    for (let repeat = 1; repeat <= repeats; repeat += 1) {
      const report = await takeOver(first, new Random(seed + repeat), { ...servers, backlog, flags });
      problems.push(...brokenBy(report).map((text) => `${name}: ${text}`));
      log(lineOfTakeOver(`${name} (${repeat})`, report));
    }
  }
  await servers.kafka.topics.delete(backlog.topic);
  return problems;
}

function* eventsOf(count: number): Generator<string> {
  for (let id = 0; id < count; id += 1) yield JSON.stringify({ id });
}

async function meetLateErrors(servers: KafkaServers, log: OwnersOptions["log"]): Promise<string[]> {
  const errors = (Object.keys(lateErrors) as LateError[]).filter((error) => only.test(`late error: ${error}`));
  if (errors.length === 0) return [];
  const problems: string[] = [];
  const scene = await LateErrors.start(servers);
  log(headingOfLateErrors);
  try {
    for (const error of errors) {
      for (const edited of ["retrying", "paused", "retrying", "paused"] satisfies Edited[]) {
        const report = await scene.meet(error, edited);
        problems.push(...brokenByLateError(report).map((text) => `late error: ${error}: ${text}`));
        log(lineOfLateError(report));
      }
    }
  } finally {
    await scene.clean();
  }
  return problems;
}

type Cell = string | number;

function line(widths: Readonly<Record<string, number>>, cells: readonly Cell[]): string {
  return Object.values(widths)
    .map((width, index) => (index === 0 ? String(cells[0]).padEnd(width) : String(cells[index]).padStart(width)))
    .join("");
}

function verdict(broken: readonly string[]): string {
  return broken.length === 0 ? "as it may be" : `BROKEN: ${broken.join("; ")}`;
}

const takeOverColumns = {
  "take-over": 28,
  ids: 9,
  rows: 9,
  lost: 6,
  repeated: 10,
  "written in (ms)": 17,
  "by one alone": 14,
  "rows after SIGCONT": 20,
  inserts: 9,
  checks: 8,
} as const;

const headingOfTakeOvers = line(takeOverColumns, Object.keys(takeOverColumns));

function lineOfTakeOver(name: string, report: TakeOverReport): string {
  const { rows, lost, repeated, span, byOneAlone, late, checks } = report;
  const cells = [name, rows - repeated, rows, lost, repeated, span, byOneAlone, late.rows, late.inserts, checks];
  return `${line(takeOverColumns, cells)}   ${verdict(brokenBy(report))}`;
}

const lateErrorColumns = {
  "late error": 28,
  edited: 10,
  ids: 7,
  rows: 7,
  "in doubt": 10,
  belied: 8,
  unknown: 9,
  refused: 9,
  dropped: 9,
  uncertain: 11,
} as const;

const headingOfLateErrors = line(lateErrorColumns, Object.keys(lateErrorColumns));

function lineOfLateError(report: LateErrorReport): string {
  const { error, edited, unique, count, inDoubt, belied, judged, dropped, uncertain } = report;
  const cells = [error, edited, unique, count, inDoubt, belied, judged.unknown, judged.refused, dropped, uncertain];
  return `${line(lateErrorColumns, cells)}   ${verdict(brokenByLateError(report))}`;
}
