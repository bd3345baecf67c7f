import type { BrokerFault } from "./fault.ts";
import { median } from "./stand-still.ts";
import type { PipelineAudit } from "./watched-pipeline.ts";

/** What came of a kind of fault: one entry for each pipeline that met it. */
export interface KindReport {
  fault: BrokerFault;
  /** How many faults there were. */
  faults: number;
  audits: PipelineAudit[];
  /** What must not be, beside what the audits count: a sentence each. */
  problems: string[];
}

const columns = {
  faults: 7,
  messages: 9,
  rows: 8,
  lost: 6,
  doubled: 8,
  "stand-still": 15,
  "its control": 15,
  "lost by it": 11,
} as const;
const nameWidth = 58;

export const heading = line("kind", Object.keys(columns));
export const legend =
  "stand-still: median / longest, in seconds, of one partition that had messages to be read; its control: librdkafka's";

export function lineOf(report: KindReport): string {
  const { fault, faults, audits } = report;
  const sum = (of: (audit: PipelineAudit) => number): number => audits.reduce((all, audit) => all + of(audit), 0);
  const still = (of: (audit: PipelineAudit) => number[]): string => {
    const all = audits.flatMap(of);
    return `${seconds(median(all))} / ${seconds(Math.max(0, ...all))}`;
  };
  const cells = [
    faults,
    sum(({ messages }) => messages),
    sum(({ rows }) => rows),
    sum(({ lost }) => lost),
    sum(({ doubled }) => doubled),
    still(({ standStill }) => standStill),
    still(({ standStillOfControl }) => standStillOfControl),
    sum(({ lostByControl }) => lostByControl),
  ];
  const broken = brokenBy(report);
  return `${line(fault.name, cells)}   ${broken.length === 0 ? "kept" : `BROKEN: ${broken.length}`}`;
}

/** What must not be, a line each: the log of a process that failed is in the log of the run. */
export function brokenBy({ fault, audits, problems }: KindReport): string[] {
  const texts = [...problems, ...audits.flatMap((audit) => brokenByAudit(fault, audit))];
  return texts.map((text) => `${fault.name}: ${text.split("\n", 1)[0]}`);
}

/** The same for one pipeline. */
export function brokenByAudit(fault: BrokerFault, audit: PipelineAudit): string[] {
  const { messages, lost, lostOnes, doubled, strangers, end, health } = audit;
  const deadLetters = health.dead_letters.total_messages;
  const { logs_cut, positions_skipped, positions_moved } = health.counters;
  const counted = `counted: ${logs_cut} logs cut, ${positions_skipped} skipped, ${positions_moved} moved`;
  const claims: [boolean, string][] = [
    [lost > 0, `${lost} of ${messages} messages are not in the table (${end}; ${counted}): ${lostOnes.join(", ")}`],
    [doubled > 0, `${doubled} rows are doubled`],
    [strangers > 0, `${strangers} rows are of no message that was committed`],
    [deadLetters > 0, `${deadLetters} good messages are dead letters`],
  ];
  const broken = claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
  return [...broken, ...(fault.account?.(audit) ?? [])];
}

function line(name: string, cells: readonly (string | number)[]): string {
  const widths = Object.values(columns);
  return name.padEnd(nameWidth) + cells.map((cell, at) => String(cell).padStart(widths[at]!)).join("");
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
