import { expect } from "vitest";
import type { Answer, Block, Failure, Probe, Reading, Sink } from "../../engine/core/sink.ts";
import { Event } from "../../engine/event/event.ts";
import { encoded } from "../support/encoded.ts";

/** A row of the target, and an event that becomes it: `id` is a whole number. */
export interface Row {
  id: number;
  text: string;
}

/** How a suite reaches one kind of sink. Its target is there, without rows, and recognises repeats. */
export interface SinkUnderTest {
  /** Makes the sink of a new start of a pipeline whose events have the two fields of `Row`. */
  start(options?: SinkStart): Sink;
  /** The one that its sinks have by default. */
  readonly password: string;
  readonly target: TargetUnderTest;
  readonly network: NetworkUnderTest;
  clean(): Promise<void>;
}

export interface SinkStart {
  /** Whether a missing target is created. Default: false. */
  create_table?: boolean;
  /** Another password than the right one. */
  password?: string;
}

/** The target of a sink, and what others do with it. */
export interface TargetUnderTest {
  /** In any order. */
  rows(): Promise<Row[]>;
  drop(): Promise<void>;
  create(): Promise<void>;
  /** Adds a column, or whatever else makes it another one for those who write rows. */
  alter(): Promise<void>;
  /** From now on it does not recognise repeats. */
  forgetRepeats(): Promise<void>;
  /** From now on it feeds two views. One of them fails for each block that has the text `bad`, until it is mended. */
  feedViews(): Promise<ViewsUnderTest>;
  /** A text that its column cannot hold. */
  readonly misfit: string;
  /** A text that only the server refuses, and what is known of that failure. */
  readonly refused: { text: string; failure: Partial<Failure> };
  /** What is known of the failure where the password is wrong. */
  readonly wrongLogin: Partial<Failure>;
}

export interface ViewsUnderTest {
  mend(): Promise<void>;
  /** How many rows each view has. */
  rows(): Promise<{ sound: number; broken: number }>;
}

/** What is between the sinks of a test and their server. */
export interface NetworkUnderTest {
  /** No connection is made any more, and those that there are break. */
  cut(): Promise<void>;
  /** Requests and answers pass again. */
  mend(): Promise<void>;
  /** Inserts are carried out, and their connections break before the answer. */
  loseAnswers(): void;
  /** Connections break when an insert has come, which the server never sees. */
  loseInserts(): void;
  /** What comes is never answered; `onHeld` is called for each request. */
  hold(onHeld: () => void): void;
  /** How many connections there are. */
  connections(): number;
}

/** What is wrong with a broken sink: what it does instead of what `sink`, which is sound, would do. */
export type Fault = (sink: Sink) => Partial<Sink>;

/** One thing that every sink does, and faults by their names: a sink with such a fault must fail the case. */
export interface SinkCase {
  title: string;
  run: (scene: SinkScene) => Promise<void>;
  faults: Readonly<Record<string, Fault>>;
}

export const patient: AbortSignal = new AbortController().signal;

export function eventsOf(rows: readonly Row[]): Event[] {
  return rows.map(({ id, text }, index) => new Event(index + 1, 0, Buffer.from(JSON.stringify({ id, text }))));
}

/** Rows with the ids from 1 on. */
export function rowsOf(...texts: string[]): Row[] {
  return texts.map((text, index) => ({ id: index + 1, text }));
}

export function blockOf(sink: Sink, rows: readonly Row[]): Block {
  return encoded(sink, eventsOf(rows));
}

/** The failure of an answer that is not ok. */
export function failureOf(answer: Answer | Probe | Awaited<ReturnType<Sink["read"]>>): Failure {
  expect(answer).toHaveProperty("failure");
  const { failure } = answer as { failure: Failure };
  expect(failure.text).toMatch(/\w/);
  return failure;
}

/** Of a server that no connection was made to. */
export const unreachable = { class: "transient", name: "network_io", connection: "none" } as const;

/** A target with the sinks on it, and what tests do with them all the time. */
export class SinkScene {
  readonly target: TargetUnderTest;
  readonly network: NetworkUnderTest;
  readonly #under: SinkUnderTest;
  readonly #fault: Fault;
  readonly #sound: Sink[] = [];

  constructor(under: SinkUnderTest, fault: Fault) {
    [this.target, this.network] = [under.target, under.network];
    this.#under = under;
    this.#fault = fault;
  }

  /** A sink that is not open. */
  start(options?: SinkStart): Sink {
    const sink = this.#under.start(options);
    this.#sound.push(sink);
    return replacing(sink, this.#fault(sink));
  }

  async opened(): Promise<Sink> {
    const sink = this.start();
    expect(await sink.open(patient)).toEqual({ kind: "ok" });
    return sink;
  }

  async insert(sink: Sink, rows: readonly Row[], token: string, signal = patient): Promise<Answer> {
    const answer = await sink.insert(blockOf(sink, rows), token, signal);
    expect(JSON.stringify(answer)).not.toContain(this.#under.password);
    return answer;
  }

  async read(sink: Sink): Promise<Reading> {
    const answer = await sink.read(true, patient);
    if (answer.kind !== "read") expect.fail(answer.failure.text);
    return answer.reading;
  }

  /** The rows of the target, in order. */
  async rows(): Promise<Row[]> {
    return (await this.target.rows()).toSorted((a, b) => a.id - b.id || (a.text < b.text ? -1 : 1));
  }

  /** No connection is made any more, and `sink` has noticed. */
  async cut(sink: Sink): Promise<void> {
    await this.network.cut();
    await sink.isReachable(patient);
  }

  async clean(): Promise<void> {
    await Promise.all(this.#sound.map((sink) => sink.close()));
    await this.#under.clean();
  }
}

/** `sound` with other members in place of its own. */
export function replacing<Sound extends object>(sound: Sound, others: Partial<Sound>): Sound {
  return new Proxy(sound, {
    get: (_, name) => {
      const from = name in others ? others : sound;
      const value: unknown = Reflect.get(from, name, from);
      return typeof value === "function" ? (value.bind(from) as unknown) : value;
    },
  });
}
