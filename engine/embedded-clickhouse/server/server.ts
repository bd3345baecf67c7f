import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";
import { openSync } from "node:fs";
import { waitForLock } from "fs-native-extensions";
import { Database, ChdbMissingError } from "./database.ts";
import { repairDeduplicationLogs } from "./tokens/deduplication-logs.ts";
import { httpServer } from "./http.ts";
import { listenInFolder, listenOnPort, removeSocket } from "./listen.ts";
import { KeptTokens } from "./tokens/kept-tokens.ts";
import { NamedSessions } from "./named-sessions.ts";
import type { StartRequest, StartReport } from "./protocol.ts";
import { Queries } from "./queries.ts";
import { Sessions } from "./sessions.ts";
import { Spool } from "./spool.ts";
import { sleep } from "../../flow/sleep.ts";
import { WriteProbe } from "../../state/write-probe.ts";

/**
 * The child process that owns chDB on one data directory, and serves the ClickHouse HTTP protocol on a
 * Unix socket.
 *
 * It starts with a request over the IPC channel, where it also reports its address. It ends
 * - at once when that channel closes, because the parent is gone (by a signal: a running query delays an exit);
 * - when the engine reports that it is broken;
 * - on SIGTERM, after the running statements, but at the latest after the grace time.
 */
const graceMs = 5_000;

process.once("disconnect", kill);
// Ctrl-C signals the whole process group; the parent decides, because it may have rows to write.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
process.once("message", (request: StartRequest) => void begin(request));

async function begin(request: StartRequest): Promise<void> {
  try {
    await serve(request);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    report({ kind: kindOf(error), text }, kill);
  }
}

function kindOf(error: unknown): "missing" | "locked" | "failed" {
  if (error instanceof ChdbMissingError) return "missing";
  return error instanceof FolderLockedError ? "locked" : "failed";
}

async function serve({ folder, socketPath, port, lockWaitMs, ...credentials }: StartRequest): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // In chDB, files of the working directory are tables: use one without files, whose name is not a glob pattern.
  process.chdir("/");
  await lockFolder(folder, lockWaitMs);
  const tokens = await KeptTokens.open(folder);
  const repaired = await repairDeduplicationLogs(join(folder, "engine"));
  const database = await Database.open(join(folder, "engine"), lockWaitMs);
  const unsynced = await tokens.keep();
  const spool = await Spool.open(join(folder, "spool"));
  const { version, timezone, settings } = await database.about();
  const sessions = new Sessions(() => database.session(), settings, kill);
  const named = new NamedSessions(sessions);
  const disk = new WriteProbe(join(folder, "write-probe"));
  disk.check();
  const queries = new Queries(sessions, named, spool, { tokens, mustBeKept: () => checkDisk(disk) });
  const newServer = (): Server => httpServer({ ...credentials, version, timezone }, queries);
  const [server, onPort] = [newServer(), port === undefined ? undefined : newServer()];
  const path = await listenInFolder(server, folder, socketPath);
  const listened = onPort === undefined ? {} : { port: await listenOnPort(onPort, port!) };
  process.once("SIGTERM", () => {
    setTimeout(kill, graceMs);
    const servers = onPort === undefined ? [server] : [server, onPort];
    void end({ servers, folder, path, named, sessions, database, tokens });
  });
  const memory = { identity: tokens.identity, unsynced };
  report({ kind: "listening", socketPath: path, ...listened, version, repaired, memory });
}

interface Serving {
  servers: readonly Server[];
  folder: string;
  /** Of the socket. */
  path: string;
  named: NamedSessions;
  sessions: Sessions;
  database: Database;
  tokens: KeptTokens;
}

async function end({ servers, folder, path, named, sessions, database, tokens }: Serving): Promise<void> {
  await Promise.all(servers.map(endServer));
  await removeSocket(folder, path);
  named.close();
  await sessions.close();
  database.close();
  await tokens.close();
  kill();
}

async function endServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  await closed;
}

function report(message: StartReport, then?: () => void): void {
  process.send?.(message, undefined, undefined, then);
}

function kill(): void {
  process.kill(process.pid, "SIGKILL");
}

/**
 * Ends the process where the disk takes no writes any more: ClickHouse may have answered OK to an insert of which nothing was
 * kept, and would take its repeat for one.
 */
function checkDisk(disk: WriteProbe): void {
  try {
    disk.check();
  } catch {
    kill();
  }
}

/** Another process has locked the folder. */
class FolderLockedError extends Error {
  override readonly name = "FolderLockedError";
}

/**
 * Locks a folder as long as this process runs. The engine has its own lock, but takes it too late: repairs are done
 * before it opens the folder.
 *
 * @throws FolderLockedError after `waitMs`. It still waits for the lock then, so the process should end.
 */
async function lockFolder(folder: string, waitMs: number): Promise<void> {
  const timer = new AbortController();
  const refusal = sleep(waitMs, timer.signal).then(() => {
    if (!timer.signal.aborted) throw new FolderLockedError(`another process holds ${folder}`);
  });
  try {
    // Never closed: the system releases the lock when the process ends.
    await Promise.race([waitForLock(openSync(join(folder, "lock"), "a", 0o600)), refusal]);
  } finally {
    timer.abort();
    refusal.catch(() => undefined);
  }
}
