import { PartitionLog, type LogEvents } from "./log.ts";

/** What a follower has of a log that it does not have whole. */
export interface Lag {
  /** Behind the last record that it has. */
  end: number;
  /** Behind the last that it knows to be replicated, and delivers. */
  high: number;
  /** Whether its leader takes it for one that is in sync. */
  isInSync: boolean;
}

/** A partition: its log, and who leads it. */
export class Partition {
  readonly number: number;
  readonly log: PartitionLog;
  /** The node that leads; -1 where none does. */
  #leader: number;
  /** Counts the elections. */
  epoch = 0;
  /** What nodes still say that have not heard of the newest election: who led before, until when. */
  readonly #former = new Map<number, { leader: number; epoch: number; until: number }>();
  /** Of nodes that lag: what they have. */
  readonly lags = new Map<number, Lag>();
  readonly #waiting = new Set<() => void>();

  constructor(number: number, leader: number, events: LogEvents) {
    this.number = number;
    this.#leader = leader;
    this.log = new PartitionLog(events);
  }

  get leader(): number {
    return this.#leader;
  }

  /** Who leads by what a node knows. */
  seenBy(node: number): { leader: number; epoch: number } {
    const former = this.#former.get(node);
    const isLate = former !== undefined && performance.now() < former.until;
    return isLate ? former : { leader: this.#leader, epoch: this.epoch };
  }

  /** Another node leads from now on. `lag`: milliseconds until a node has heard of it; the new leader knows at once. */
  elect(leader: number, nodes: readonly number[], lag: (node: number) => number): void {
    const before = { leader: this.#leader, epoch: this.epoch };
    this.#former.clear();
    for (const node of nodes) {
      if (node !== leader) this.#former.set(node, { ...before, until: performance.now() + lag(node) });
    }
    this.#leader = leader;
    this.epoch += 1;
    this.log.epoch = this.epoch;
    this.changed();
  }

  /** Calls once when something changed here. Returns how to give that up. */
  onChange(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  changed(): void {
    for (const wake of this.#waiting) wake();
  }
}

/** A topic. Another one with the same name, made after this was deleted, has another id. */
export interface Topic {
  name: string;
  /** 16 bytes in base64url, as Kafka's tools print it. */
  id: string;
  partitions: Partition[];
}

/** Stands for no topic. */
export const noId = Buffer.alloc(16).toString("base64url");

/** The id of the topic that is made as the `number`th of its cluster. */
export function topicIdOf(number: number): string {
  const bytes = Buffer.alloc(16, "topic id");
  bytes.writeUInt32BE(number, 12);
  return bytes.toString("base64url");
}
