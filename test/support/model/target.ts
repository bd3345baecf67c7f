import type { Answer, Failure } from "../../../engine/core/sink.ts";
import type { ModelEvent } from "./events.ts";

/** What a model server does with the next insert. */
export type Trick =
  | "answer"
  | "unknown, all in"
  | "unknown, part in"
  | "unknown, nothing in"
  | "refuse"
  | "setup"
  | "view"
  /** The server dies and comes back: it keeps the tokens, and no rows. */
  | "unknown, tokens alone"
  /** The server dies and comes back, with all of it or with nothing. */
  | "unknown, restarted with all in"
  | "unknown, restarted with nothing in";

export const tricks: readonly Trick[] = [
  "answer",
  "unknown, all in",
  "unknown, part in",
  "unknown, nothing in",
  "refuse",
  "setup",
  "view",
];

/** What a server may do that dies: which of these it did is not to be found out in every case. */
export const deaths: readonly Trick[] = [
  "unknown, tokens alone",
  "unknown, restarted with all in",
  "unknown, restarted with nothing in",
];

/** The same trick again and again; 500 times is longer than any story. */
export function repeated(trick: Trick, times = 500): Trick[] {
  return Array.from({ length: times }, () => trick);
}

/**
 * A table as ClickHouse keeps it, as far as delivery depends on it: tokens are kept per partition, the partitions of an
 * insert are written one after another, only the last `window` inserts of partitions are recognised.
 */
export class ModelTarget {
  rows: ModelEvent[] = [];
  readonly window: number;
  /** Tokens, each with the partition that it was used in, oldest first. */
  tokens: string[] = [];
  blocks = 0;
  time = 1_000_000;
  /** When its server was started. */
  started = 0;
  /** Another replica is asked, which has no part at all yet. */
  isReplicated = false;
  /** How many repeats it dropped. */
  dropped = 0;
  next: Trick[] = [];
  /** Nothing can be read of the table, as where its server does not answer. */
  isUnreadable = false;
  /** Its constraint was dropped: it takes the rows that it refused. */
  isMended = false;
  /** Its constraint is one that no row meets. */
  takesNone = false;

  constructor(window: number) {
    this.window = window;
  }

  /** Another one when its constraint changes. */
  get description(): string {
    return this.isMended ? "no constraint" : this.takesNone ? "takes no row" : "takes good rows";
  }

  insert(rows: readonly ModelEvent[], token: string): Answer {
    this.time += 10;
    const trick = this.next.shift() ?? "answer";
    if (trick === "refuse") return refused({ class: "transient", name: "TOO_MANY_PARTS", code: 252 });
    if (trick === "setup") return refused({ class: "setup", name: "UNKNOWN_TABLE", code: 60 });
    if (trick === "unknown, nothing in") return lost;
    if (trick === "unknown, tokens alone") {
      for (const { partition } of rows) this.tokens.push(`${partition} ${token}`);
      return this.#restart();
    }
    if (trick === "unknown, restarted with nothing in") return this.#restart();
    const bad = rows.findIndex((row) => this.refuses(row));
    if (bad !== -1) return refused({ class: "row", name: "VIOLATED_CONSTRAINT", code: 469, row: bad });
    const partitions = [...new Set(rows.map(({ partition }) => partition))];
    if (trick === "unknown, part in") partitions.length = Math.ceil(partitions.length / 2);
    for (const partition of partitions) this.#write(rows, partition, token);
    if (trick === "answer") return { kind: "ok" };
    if (trick === "unknown, restarted with all in") return this.#restart();
    return trick === "view"
      ? { kind: "unknown", failure: failure({ class: "view", name: "CANNOT_PARSE", code: 6 }) }
      : lost;
  }

  /** Another writer makes so many parts. */
  others(blocks: number): void {
    this.blocks += blocks;
  }

  #restart(): Answer {
    this.time += 3_000;
    this.started = this.time;
    return lost;
  }

  refuses({ fate }: ModelEvent): boolean {
    return (this.takesNone || fate === "server") && !this.isMended;
  }

  #write(rows: readonly ModelEvent[], partition: number, token: string): void {
    const used = `${partition} ${token}`;
    if (this.tokens.includes(used)) {
      this.dropped += 1;
      return;
    }
    this.tokens = [...this.tokens, used].slice(-this.window);
    this.blocks += 1;
    this.rows.push(...rows.filter((row) => row.partition === partition));
  }
}

function failure(of: Omit<Failure, "text">): Failure {
  return { ...of, text: of.name };
}

function refused(of: Omit<Failure, "text">): Answer {
  return { kind: "refused", failure: failure(of) };
}

const lost: Answer = { kind: "unknown", failure: failure({ class: "transient", name: "network_io" }) };
