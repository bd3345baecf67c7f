import type { Message } from "kafkajs";
import type { Random } from "../support/random.ts";

/** Half of the repeats are of the newest few ids, which meet them in one batch; the others go back so far. */
const newest = 20;
const remembered = 5_000;

/** An event, and which of the topics it goes to. */
export interface MixedMessage extends Message {
  topic: number;
}

/**
 * Events for topics, by a seed: fields `id`, whole numbers from 0 on, and `n`, which follows from the id. Those with one
 * id go to one topic; from the second topic on the fields are called `number` and `note`.
 */
export class KafkaMix {
  /** Bytes by which events are made longer, in a field that goes nowhere. */
  padding = 0;
  readonly #random: Random;
  readonly #repeats: number;
  readonly #partitions: number;
  readonly #topics: number;
  #distinct = 0;

  /** `repeats`: percent of events with an id that was there before, in any of the partitions of each topic. */
  constructor(random: Random, repeats: number, partitions: number, topics: number) {
    this.#topics = topics;
    this.#random = random;
    this.#repeats = repeats;
    this.#partitions = partitions;
  }

  /** How many ids there are: 0 up to this one. */
  get distinct(): number {
    return this.#distinct;
  }

  *take(count: number): Generator<MixedMessage> {
    for (let taken = 0; taken < count; taken += 1) {
      const id = this.#isRepeat() ? this.#earlier() : this.#distinct++;
      const padding = this.padding === 0 ? {} : { padding: "x".repeat(this.padding) };
      const topic = id % this.#topics;
      const event = topic === 0 ? { id, n: noteOf(id) } : { number: id, note: noteOf(id) };
      const value = JSON.stringify({ ...event, ...padding });
      yield { topic, value, partition: this.#random.below(this.#partitions) };
    }
  }

  #isRepeat(): boolean {
    return this.#distinct > 0 && this.#random.below(100) < this.#repeats;
  }

  #earlier(): number {
    const span = Math.min(this.#distinct, this.#random.pick(newest, remembered));
    return this.#distinct - 1 - this.#random.below(span);
  }
}

/** The field `n` of an event; `CountedTable` knows it too. */
export function noteOf(id: number): number {
  return (id * 7) % 1_000;
}
