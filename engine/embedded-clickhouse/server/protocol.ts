import type { Credentials } from "./authentication.ts";
import type { Repaired } from "./tokens/deduplication-logs.ts";

/** Sent once by the parent over the IPC channel. Other processes cannot read this, unlike arguments and variables. */
export interface StartRequest extends Credentials {
  /** The folder of the embedded ClickHouse; the child makes it. */
  folder: string;
  /** Where an earlier child listened, reused where it is not in the folder; absent for the first. */
  socketPath?: string;
  /** A loopback port to listen on too, if it is free; 0 for any free port. Absent: on none. */
  port?: number;
  /** How long another process may take to release the folder, in milliseconds. */
  lockWaitMs: number;
}

export interface Listening {
  kind: "listening";
  socketPath: string;
  /** Only where one was asked for. */
  port?: number;
  version: string;
  /** Repairs of the deduplication logs before the engine was opened. */
  repaired: Repaired;
  memory: InsertMemory;
}

/** What the server remembers of inserts. */
export interface InsertMemory {
  /** Another one where the machine may have ended before all of it was on disk. */
  identity: string;
  /** Why a power cut may take the newest tokens and leave their rows; undefined where it cannot. */
  unsynced: string | undefined;
}

/** Sent once by the child. It then ends, unless it is listening. */
export type StartReport =
  | Listening
  /** chDB cannot be loaded here. */
  | { kind: "missing"; text: string }
  /** Another process has locked the folder. */
  | { kind: "locked"; text: string }
  | { kind: "failed"; text: string };
