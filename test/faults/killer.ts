/**
 * Loaded into the daemon before its own code: ends its process with SIGKILL at an exact step of a batch's life. It looks
 * from outside, at messages between the process and its threads, at requests and at files; the product knows nothing of
 * it.
 */
import files from "node:fs/promises";
import { ClientRequest, type IncomingMessage } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { isMainThread, Worker } from "node:worker_threads";
import { rangesOf } from "../../engine/core/journal.ts";
import type { FromThread, ToThread } from "../../engine/workers/protocol.ts";
import { noted, watchAnswers, watchOffsetCommits } from "./kafka-killer.ts";
import { insertsInto, isTime, kill, replace } from "./kill-orders.ts";
import { notePrepared } from "./witness.ts";

type Told = Extract<FromThread, { type: "prepare" | "amend" | "commit" }>;

/** What each thread told that it has had no answer to. */
const told = new WeakMap<Worker, Map<number, Told>>();
/** Batches that were prepared. */
const prepared = new Set<string>();

const script = basename(process.argv[1] ?? "");
if (script === (isMainThread ? "sluice.js" : "thread.js")) {
  watchMessages();
  watchInserts();
  watchFiles();
  watchAnswers(isInsertOf);
  if (!isMainThread) watchOffsetCommits();
}

function watchMessages(): void {
  replace(Worker.prototype, "emit", (worker, emit, values) => {
    const [event, messages] = values as [string, FromThread[]];
    // Threads that answer calls send single messages.
    if (event === "message" && Array.isArray(messages)) for (const message of messages) hear(worker, message);
    return emit(...values);
  });
  replace(Worker.prototype, "postMessage", (worker, postMessage, values) => {
    const [message] = values as [ToThread];
    if (message.type === "answer" && message.error === undefined) answer(worker, message.call);
    postMessage(...values);
  });
}

function hear(worker: Worker, message: FromThread): void {
  if (message.type !== "prepare" && message.type !== "amend" && message.type !== "commit") return;
  if (message.type === "prepare") notePrepared(message.record);
  if (message.type === "commit" && message.released !== undefined) notePrepared(message.released);
  const { pipeline_id, batch, rows } = message.record;
  if (rows === 0) return;
  if (message.type === "prepare") {
    // A second record of a batch is the same batch made again.
    if (prepared.has(`${pipeline_id} ${batch}`)) return;
    prepared.add(`${pipeline_id} ${batch}`);
    if (isTime("before prepare", (wanted) => wanted === pipeline_id)) kill();
  }
  const calls = told.get(worker) ?? new Map<number, Told>();
  told.set(worker, calls.set(message.call, message));
}

function answer(worker: Worker, call: number): void {
  const message = told.get(worker)?.get(call);
  if (message === undefined) return;
  told.get(worker)?.delete(call);
  const { type, record } = message;
  noted(type, record);
  if (type === "amend") return;
  const step = type === "prepare" ? "after prepare" : "after commit";
  if (isTime(step, (wanted) => wanted === record.pipeline_id)) kill(rangesOf(record));
}

function watchInserts(): void {
  replace(ClientRequest.prototype, "write", (request, write, values) => {
    if (!isTime("during the insert", isInsertOf(request))) return write(...values);
    const body = Buffer.from(values[0] as Uint8Array);
    // The rest never follows: the process ends when the socket has taken this half.
    write(body.subarray(0, body.length >> 1), () => kill());
    return false;
  });
  replace(ClientRequest.prototype, "emit", (request, emit, values) => {
    const [event, response] = values as [string, IncomingMessage];
    if (event === "response") {
      response.on("end", () => {
        if (response.statusCode === 200 && isTime("after the insert", isInsertOf(request))) kill();
      });
    }
    return emit(...values);
  });
}

/** Whether a request inserts into the table of a pipeline. */
function isInsertOf(request: ClientRequest): (pipeline_id: string) => boolean {
  return insertsInto(request.path);
}

function watchFiles(): void {
  const { unlink } = files;
  files.unlink = async (path) => {
    await unlink(path);
    const isOf = (wanted: string): boolean => String(path).includes(`/${wanted}/`);
    if (String(path).endsWith(".segment") && isTime("after trim", isOf)) kill();
  };
  const { open } = files;
  files.open = async (path, ...how) => {
    const file = await open(path, ...how);
    if (String(path).endsWith(".join")) watchJoinLog(file, String(path));
    return file;
  };
  syncBuiltinESMExports();
}

/** A step of a join is durable with the sync of its file. */
function watchJoinLog(file: files.FileHandle, path: string): void {
  const isOf = (wanted: string): boolean => path.includes(`/${wanted}/`);
  const datasync = file.datasync.bind(file);
  file.datasync = async () => {
    if (isTime("join step written", isOf)) kill();
    await datasync();
    if (isTime("join step durable", isOf)) kill();
  };
}
