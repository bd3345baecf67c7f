import type { Credentials } from "./authentication.ts";

/** What the parent tells the child, once, over their channel: no argument and no variable shows it to others. */
export interface Orders extends Credentials {
  /** The folder of the embedded ClickHouse; the child makes it. */
  folder: string;
  /** The port that an earlier child had, taken again if it is free; 0 for any free one. */
  port: number;
  /** How long a predecessor may take to let go of the folder. */
  lockWaitMs: number;
}

export interface Listening {
  kind: "listening";
  port: number;
  version: string;
  /** What it mended before it opened the engine. */
  mended: Mended;
}

/** What the child tells the parent, once. Unless it is listening, it then ends. */
export type Report =
  | Listening
  /** chDB cannot be loaded here. */
  | { kind: "missing"; text: string }
  /** Another process has the folder. */
  | { kind: "held"; text: string }
  | { kind: "failed"; text: string };

/** What was wrong in all logs, and is no more. */
export interface Mended {
  /** Tokens that were noted without their rows, and are forgotten. */
  tokens: number;
  /** Lines that could not be read, or were cut off. */
  lines: number;
}
