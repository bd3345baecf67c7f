import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openSync } from "node:fs";
import { waitForLock } from "fs-native-extensions";
import { Database, Missing } from "./database.ts";
import { repairDeduplicationLogs } from "./deduplication-logs.ts";
import { httpServer } from "./http.ts";
import { NamedSessions } from "./named-sessions.ts";
import type { Orders, Report } from "./protocol.ts";
import { Queries } from "./queries.ts";
import { Sessions } from "./sessions.ts";
import { Spool } from "./spool.ts";
import { sleep } from "../../core/sleep.ts";

/**
 * The child process that alone owns chDB on one data directory, and speaks the ClickHouse HTTP protocol on loopback.
 *
 * It starts when its orders come over the channel to its parent, and reports the port there. It ends
 * - at once when that channel closes, for then the parent is dead (a signal, because a running query holds up an exit);
 * - when the engine says that it is broken;
 * - on SIGTERM, when what runs has ended, but at latest after the grace time.
 */
const graceMs = 5_000;

process.once("disconnect", kill);
// Ctrl-C reaches the whole group of processes; the parent is the one to decide, for it may have rows to write yet.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
process.once("message", (orders: Orders) => void begin(orders));

async function begin(orders: Orders): Promise<void> {
  try {
    await serve(orders);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    report({ kind: kindOf(error), text }, kill);
  }
}

function kindOf(error: unknown): "missing" | "held" | "failed" {
  if (error instanceof Missing) return "missing";
  return error instanceof Held ? "held" : "failed";
}

async function serve({ folder, port, lockWaitMs, ...credentials }: Orders): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // In chDB, files of the working directory are tables: take one without files, whose name is no glob.
  process.chdir("/");
  await takeFolder(folder, lockWaitMs);
  const mended = await repairDeduplicationLogs(join(folder, "engine"));
  const database = await Database.open(join(folder, "engine"), lockWaitMs);
  const spool = await Spool.open(join(folder, "spool"));
  const { version, timezone, settings } = await database.about();
  const sessions = new Sessions(() => database.session(), settings, kill);
  const named = new NamedSessions(sessions);
  const server = httpServer({ ...credentials, version, timezone }, new Queries(sessions, named, spool));
  await listen(server, port);
  process.once("SIGTERM", () => {
    setTimeout(kill, graceMs);
    void end(server, named, sessions, database);
  });
  report({ kind: "listening", port: (server.address() as AddressInfo).port, version, mended });
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    await listen(server, 0);
  }
}

async function end(server: Server, named: NamedSessions, sessions: Sessions, database: Database): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  await closed;
  named.close();
  await sessions.close();
  database.close();
  kill();
}

function report(message: Report, then?: () => void): void {
  process.send?.(message, undefined, undefined, then);
}

function kill(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Another process has the folder. */
class Held extends Error {
  override readonly name = "Held";
}

/**
 * Takes a folder for as long as this process lives, before the engine does it with a lock of its own: what is to be
 * mended in there, is mended before the engine opens it.
 *
 * @throws Held after `waitMs`. It then waits on, so the process should end.
 */
async function takeFolder(folder: string, waitMs: number): Promise<void> {
  const timer = new AbortController();
  const refusal = sleep(waitMs, timer.signal).then(() => {
    if (!timer.signal.aborted) throw new Held(`another process holds ${folder}`);
  });
  try {
    // Never closed: the system drops the lock with the process.
    await Promise.race([waitForLock(openSync(join(folder, "lock"), "a", 0o600)), refusal]);
  } finally {
    timer.abort();
    refusal.catch(() => undefined);
  }
}
