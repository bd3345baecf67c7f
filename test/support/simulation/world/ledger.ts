/** What becomes of an event on its way, as far as its values decide it. */
export type Fate =
  | "row"
  /** The filter drops it. */
  | "filtered"
  /** The filter of some edits drops it. */
  | "even"
  /** A declared field is missing. */
  | "undeclared"
  /** A value is beyond the range of its column. */
  | "range"
  /** A constraint of the table refuses it. */
  | "constraint";

/** One event that a sender sent, or a producer wrote. */
export interface SentEvent {
  id: number;
  pipeline: number;
  key: string;
  fate: Fate;
  /** The partition of the table that its row belongs to. */
  part: number;
  /** Of the right side of a join: it makes no row, but left events with its key may. */
  isRight?: true;
  /** What the sender heard; `unknown` while no answer came, and for ever where the process died before. */
  answer: "stored" | "refused" | "unknown";
  /** When it was sent, in milliseconds since the world began. */
  at: number;
  /** A person did something that may take it away without a row: the pipeline was terminated, or its topic cut. */
  mayBeLost?: true;
  /** A person did something after which it may be there twice. */
  mayBeDoubled?: true;
}

/** Everything that was sent in a world, with what its senders heard. */
export class Ledger {
  readonly events: SentEvent[] = [];

  send(event: Omit<SentEvent, "id" | "answer">): SentEvent {
    const sent: SentEvent = { ...event, id: this.events.length + 1, answer: "unknown" };
    this.events.push(sent);
    return sent;
  }

  of(pipeline: number): SentEvent[] {
    return this.events.filter((event) => event.pipeline === pipeline);
  }

  /** The table of a pipeline refuses from now on what it may have taken, or takes what it has refused. */
  constraintChanged(pipeline: number): void {
    for (const event of this.of(pipeline)) if (event.fate === "constraint") event.mayBeDoubled = true;
  }

  /** Whatever of a pipeline was sent so far may be lost from now on. `isAll`: or be there twice. */
  forgive(pipeline: number, { isAll = false } = {}): void {
    for (const event of this.of(pipeline)) {
      event.mayBeLost = true;
      if (isAll) event.mayBeDoubled = true;
    }
  }
}

/** An event as a log record of OTLP, in a request with others. */
export function otlpText(events: readonly SentEvent[]): string {
  const logRecords = events.map((event) => ({
    body: { stringValue: "an event" },
    attributes: Object.entries(valuesOf(event)).map(([key, value]) => ({ key, value: { stringValue: String(value) } })),
  }));
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
}

function valuesOf({ id, key, fate, part }: SentEvent) {
  return { id, key, fate, part: fate === "range" ? 300 : part };
}

/** The text of an event, as its sender writes it. */
export function eventText(event: SentEvent): string {
  const all = valuesOf(event);
  if (event.fate !== "undeclared") return JSON.stringify(all);
  const { key: _key, ...rest } = all;
  return JSON.stringify(rest);
}
