/**
 * Loaded into the daemon before its own code: ends its process with SIGKILL at an exact step of an apply. It looks from
 * outside, at what is written into the journal of operations and the history; the product knows nothing of it.
 */
import files from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { isMainThread } from "node:worker_threads";
import type { Call } from "../../reconciler/plan/calls.ts";
import type { OperationLine } from "../../reconciler/apply/operation.ts";
import { isTime, kill } from "./kill-orders.ts";
import type { ApplyStep } from "./reconcile-steps.ts";

/** Milliseconds within which a call that is being made is cut off; most are cut off sooner. */
const within = 30;
/** The kill that waits for its moment, and the call that is to be cut off where the last one was too quick. */
let waiting: NodeJS.Timeout | undefined;
let missed: string | undefined;

/** The calls of each operation. */
const calls = new Map<number, readonly Call[]>();

if (isMainThread && basename(process.argv[1] ?? "") === "sluice.js") {
  const { open } = files;
  files.open = async (...values) => {
    const file = await open(...values);
    const name = basename(String(values[0]));
    if (name === "operations.ndjson") watchJournal(file);
    if (name === "history.ndjson") watchHistory(file);
    return file;
  };
  syncBuiltinESMExports();
}

function isStep(step: ApplyStep): boolean {
  return isTime(step, () => true);
}

function watchJournal(file: FileHandle): void {
  const [append, sync] = [file.appendFile.bind(file), file.datasync.bind(file)];
  let unsynced: OperationLine[] = [];
  file.appendFile = async (text, ...rest) => {
    const lines = linesOf(text);
    for (const line of lines) {
      if (line.says === "called") clearTimeout(waiting);
      if (line.says === "called" && isStep(`after ${callOf(line.op, line.index)}`)) return kill();
      if (line.says === "end" && isStep("after the record")) return kill();
    }
    unsynced.push(...lines);
    return append(text, ...rest);
  };
  file.datasync = async () => {
    await sync();
    const lines = unsynced;
    unsynced = [];
    for (const line of lines) {
      if (line.says !== "calling") continue;
      const call = callOf(line.op, line.index);
      if (isStep(`before ${call}`)) return kill();
      if (missed !== call && !isStep(`during ${call}`)) continue;
      missed = call;
      clearTimeout(waiting);
      waiting = setTimeout(kill, Math.random() ** 3 * within);
    }
  };
}

/** The end of the last open operation is no line: the journal is emptied. */
function watchHistory(file: FileHandle): void {
  const sync = file.datasync.bind(file);
  file.datasync = async () => {
    await sync();
    if (isStep("after the record")) kill();
  };
}

/** What is said at once is one line: an array. */
function linesOf(text: unknown): OperationLine[] {
  const lines = String(text)
    .split("\n")
    .filter(Boolean)
    .flatMap((line) => JSON.parse(line) as OperationLine | OperationLine[]);
  for (const line of lines) {
    if (line.says === "begin") calls.set(line.op, line.what.calls);
    if (line.says === "again") calls.set(line.op, line.calls);
  }
  return lines;
}

function callOf(op: number, index: number): Call {
  return calls.get(op)?.[index] ?? "create";
}
