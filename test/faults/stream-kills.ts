import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Event } from "../../engine/event/event.ts";
import { EmbeddedReader } from "../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import { Random } from "../support/random.ts";

export interface StreamReport {
  kills: number;
  /** Pushes that were answered, and events that the stream had at the end, settled ones included. */
  pushes: number;
  events: number;
  /** Pushes that a kill left stored and not answered. */
  unanswered: number;
  /** What is wrong, a sentence each. */
  broken: string[];
}

/** What the runs of the appender said. */
interface Said {
  /** The last sequence of each push that was answered, by its number. */
  answered: Map<number, number>;
  trimmed: number;
  /** No push had this number or a later one. */
  next: number;
}

/** An event as the appender wrote it: number of its push, place in it, and how many there are. */
interface Part {
  number: number;
  at: number;
  of: number;
}

/**
 * Kills a program that appends pushes to a stream as fast as it can, with SIGKILL at random moments, and looks each time
 * at what is there: every push that was answered, none in part, in order, and no sequence twice.
 */
export async function killAppender(options: {
  kills: number;
  seed: number;
  log?: (line: string) => void;
}): Promise<StreamReport> {
  const { kills, seed, log = () => undefined } = options;
  const folder = await mkdtemp(join(tmpdir(), "sluice-kills-"));
  const random = new Random(seed);
  const report: StreamReport = { kills: 0, pushes: 0, events: 0, unanswered: 0, broken: [] };
  const said: Said = { answered: new Map(), trimmed: 0, next: 0 };
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      const known = said.answered.size;
      await appendAndKill(folder, said, random);
      report.pushes += said.answered.size - known;
      report.kills += 1;
      const found = await findPushes(folder, said, report);
      const unanswered = [...found].filter(([number]) => !said.answered.has(number));
      report.unanswered += unanswered.length;
      // What is there now must stay, answered or not.
      for (const [number, last] of unanswered) said.answered.set(number, last);
      log(`kill ${kill} of ${kills}: ${report.pushes} pushes answered, ${report.unanswered} more stored`);
    }
    return report;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Lets the program append for a moment after its first answer, and notes what it says. */
async function appendAndKill(folder: string, said: Said, random: Random): Promise<void> {
  const script = fileURLToPath(new URL("stream-appender.ts", import.meta.url));
  const args = [folder, said.trimmed, said.next, random.below(2 ** 31)].map(String);
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(child.stdout);
  const began = once(lines, "line");
  const ended = once(lines, "close");
  lines.on("line", (line) => {
    const [what, sequence] = line.split(" ");
    if (what === "trim") said.trimmed = Math.max(said.trimmed, Number(sequence));
    else said.answered.set(Number(what), Number(sequence));
  });
  await Promise.race([began, ended]);
  await sleep(random.below(400));
  child.kill("SIGKILL");
  await ended;
  // Those on their way had later numbers than those that were answered.
  for (const number of said.answered.keys()) said.next = Math.max(said.next, number);
  said.next += 1_000;
}

/** The pushes that are held, by number, each with its last sequence. */
async function findPushes(folder: string, said: Said, report: StreamReport): Promise<Map<number, number>> {
  const { answered, trimmed } = said;
  const limits = { max_bytes: Infinity, max_msgs: Infinity };
  const stream = await EmbeddedStream.open(systemDisk, folder, { limits, trimmed, onAppended: () => undefined });
  const { last, messages } = stream.state;
  await stream.close();
  const found = new Map<number, number>();
  let before: Part | undefined;
  let count = 0;
  for await (const event of eventsOf(folder, trimmed, last)) {
    count += 1;
    const [number = -1, at = -1, of = -1] = event.text.split(" ", 3).map(Number);
    const part = { number, at, of };
    const isNext = event.position === trimmed + count && (before === undefined || follows(before, part));
    if (!isNext) report.broken.push(`sequence ${event.position} is not what belongs behind ${trimmed + count - 1}`);
    if (at + 1 === of) found.set(number, event.position);
    before = part;
  }
  if (before !== undefined && before.at + 1 < before.of) report.broken.push(`push ${before.number} is there in part`);
  if (count !== messages) report.broken.push(`the state counts ${messages} events, and ${count} are there`);
  for (const [number, end] of answered) {
    if (end > trimmed && found.get(number) !== end) report.broken.push(`push ${number} is not at ${end}`);
  }
  report.events = last;
  return found;
}

async function* eventsOf(folder: string, trimmed: number, last: number): AsyncGenerator<Event> {
  const reader = new EmbeddedReader(systemDisk, folder, last);
  try {
    for (let position = trimmed + 1; position <= last;) {
      const runs = await reader.read(position, 10_000, 1 << 24);
      for (const { events } of runs) yield* events;
      position = (runs.at(-1)?.events.at(-1)?.position ?? last) + 1;
    }
  } finally {
    await reader.close();
  }
}

/** Whether a part belongs behind another: the next one of its push, or the first one of another. */
function follows(before: Part, { number, at, of }: Part): boolean {
  if (before.at + 1 === before.of) return at === 0;
  return number === before.number && of === before.of && at === before.at + 1;
}
