import { setTimeout as sleep } from "node:timers/promises";
import type { Span } from "../spans.ts";
import type { ClickHouseServer } from "./server.ts";
import type { Subject } from "./subject.ts";

/** Rows of one insert. */
const rows = 3;
/** Between two inserts, and after one that failed or while it rests, in milliseconds. */
const rest = 5;
const untilAgain = 50;

/**
 * Inserts own rows into the tables of all subjects, one table after the other, without a pause: every other insert with
 * a token. No insert is repeated, so that every repeat that the server drops is one of Sluice.
 */
export class OtherWriter {
  readonly #server: ClickHouseServer;
  readonly #subjects: readonly Subject[];
  readonly #spans: ReadonlyMap<Subject, Map<string, Span>>;
  readonly #stopped = new AbortController();
  readonly #done: Promise<void>;
  #inserts = 0;
  #isResting = false;
  #insertion: Promise<boolean> = Promise.resolve(true);

  constructor(server: ClickHouseServer, subjects: readonly Subject[]) {
    this.#server = server;
    this.#subjects = subjects;
    this.#spans = new Map(subjects.map((subject) => [subject, new Map<string, Span>()]));
    this.#done = this.#run();
  }

  /** Resolves when its last insert is answered. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }

  /**
   * Inserts nothing until it goes on: then the block numbers of a table tell whether Sluice wrote something. Resolves when
   * its last insert is answered.
   */
  async rest(): Promise<void> {
    this.#isResting = true;
    await this.#insertion;
  }

  goOn(): void {
    this.#isResting = false;
  }

  /** How often its ids must and may be in the table of a subject: what was not answered may be there. */
  expected(subject: Subject): ReadonlyMap<string, Span> {
    return this.#spans.get(subject) ?? new Map<string, Span>();
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      if (!this.#isResting) this.#insertion = this.#insert(this.#subjects[this.#inserts % this.#subjects.length]!);
      const isTaken = await this.#insertion;
      await sleep(isTaken && !this.#isResting ? rest : untilAgain);
    }
  }

  async #insert(subject: Subject): Promise<boolean> {
    const n = this.#inserts;
    this.#inserts += 1;
    // Every table gets some with a token and some without, also where the number of tables is even.
    const hasToken = Math.floor(n / this.#subjects.length) % 2 === 0;
    const made = Array.from({ length: rows }, (_, index) => subject.rowOfAnother(n * rows + index));
    const spans = this.#spans.get(subject)!;
    const note = (span: Span): void => made.forEach(({ id }) => spans.set(id, span));
    note({ least: 0, most: 1 });
    try {
      await this.#server.client.insert({
        table: subject.table,
        values: made.map(({ row }) => row),
        format: "JSONEachRow",
        clickhouse_settings: hasToken ? { insert_deduplication_token: `another-${n}` } : {},
      });
      note({ least: 1, most: 1 });
      return true;
    } catch {
      return false;
    }
  }
}
