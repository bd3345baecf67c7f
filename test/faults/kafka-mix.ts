import type { Message } from "kafkajs";
import type { Random } from "../support/random.ts";

/** Half of the repeats are of the newest few ids, which meet them in one batch; the others go back so far. */
const newest = 20;
const remembered = 5_000;

/** An event, and which of the topics it goes to. */
export interface MixedMessage extends Message {
  topic: number;
}

interface Half {
  id: number;
  topic: number;
}

interface Topics {
  topics: number;
  joins?: "one" | "many";
}

/** Of a join of many: the keys, and how many in a hundred events are right ones. */
const [manyKeys, rightShare] = [1_000, 20];

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
  readonly #joins: Topics["joins"];
  /** Of a join of many: the keys of the left and of the right events, by their ids. */
  readonly keys: { left: number[]; right: number[] } = { left: [], right: [] };
  /** Ids whose event is in one of the topics only, and that other topic. */
  readonly #halves: Half[] = [];
  #distinct = 0;

  /**
   * `repeats`: percent of events with an id that was there before, in any of the partitions of each topic. `joins: one`: each
   * id has an event in both topics, one of them some time after the other; repeats are in the first. `joins: many`: each topic
   * has ids of its own, and the events a key in the other field.
   */
  constructor(random: Random, repeats: number, partitions: number, { topics, joins }: Topics) {
    this.#topics = topics;
    this.#joins = joins;
    this.#random = random;
    this.#repeats = repeats;
    this.#partitions = partitions;
  }

  /** How many ids there are: 0 up to this one. Of a join of many, those of left events. */
  get distinct(): number {
    return this.#distinct;
  }

  take(count: number): Generator<MixedMessage> {
    if (this.#joins === "many") return this.#takeMany(count);
    return this.#joins === "one" ? this.#takeBoth(count) : this.#take(count);
  }

  *#takeMany(count: number): Generator<MixedMessage> {
    for (let taken = 0; taken < count; taken += 1) {
      const isRight = this.#random.below(100) < rightShare;
      const known = isRight ? this.keys.right : this.keys.left;
      const isRepeat = known.length > 0 && this.#random.below(100) < this.#repeats;
      const span = Math.min(known.length, this.#random.pick(newest, remembered));
      const id = isRepeat ? known.length - 1 - this.#random.below(span) : known.length;
      const key = isRepeat ? known[id]! : this.#random.below(manyKeys);
      known[id] = key;
      this.#distinct = this.keys.left.length;
      const event = isRight ? { number: key, note: id } : { id, n: key };
      yield this.#sent(event, isRight ? 1 : 0);
    }
  }

  /** All ids that it begins with are in both topics at its end. */
  *#takeBoth(count: number): Generator<MixedMessage> {
    for (let taken = 0; taken < count || this.#halves.length > 0; taken += 1) {
      const isEnding = taken >= count;
      if (isEnding || (this.#halves.length > 0 && this.#random.below(100) < 50)) {
        const [{ id, topic }] = this.#halves.splice(this.#random.below(this.#halves.length), 1) as [Half];
        yield this.#message(id, topic);
      } else if (this.#isRepeat()) {
        yield this.#message(this.#earlier(), 0);
      } else {
        const [id, topic] = [this.#distinct++, this.#random.below(2)];
        this.#halves.push({ id, topic: 1 - topic });
        yield this.#message(id, topic);
      }
    }
  }

  *#take(count: number): Generator<MixedMessage> {
    for (let taken = 0; taken < count; taken += 1) {
      const id = this.#isRepeat() ? this.#earlier() : this.#distinct++;
      yield this.#message(id, id % this.#topics);
    }
  }

  #message(id: number, topic: number): MixedMessage {
    return this.#sent(topic === 0 ? { id, n: noteOf(id) } : { number: id, note: noteOf(id) }, topic);
  }

  #sent(event: object, topic: number): MixedMessage {
    const padding = this.padding === 0 ? {} : { padding: "x".repeat(this.padding) };
    const value = JSON.stringify({ ...event, ...padding });
    return { topic, value, partition: this.#random.below(this.#partitions) };
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
