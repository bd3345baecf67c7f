import type { Feed } from "../../../core/positions.ts";
import { kafkaFeed, kafkaPartition } from "./feed.ts";

/** A topic, by its cluster. */
interface Named {
  cluster: string;
  topic: string;
}

/** A topic that was deleted and created again. */
export interface Recreated {
  topic: string;
  /** The id of the one that is read here, and of the one that is there. */
  from: string;
  to: string;
}

/**
 * Which topic a name stands for. Kafka gives each topic an id, so that one that was created again is known for another
 * one; its partitions are feeds of their own, like those of another cluster. Those of the first topic of a name are called
 * as where no id is known, so that what earlier versions noted stays theirs.
 */
export class TopicIds {
  /** By cluster and topic, oldest first: the last one is read. */
  readonly #read: Record<string, string[]>;
  /** What the brokers said last, by topic. */
  readonly #there = new Map<string, string>();

  constructor(noted: Readonly<Record<string, string[]>> = {}) {
    this.#read = { ...noted };
  }

  /** The ids that the brokers name. Throws where one is that of a topic before the one that is read: a broker lags. */
  saw(cluster: string, there: ReadonlyMap<string, string>): void {
    for (const [topic, id] of there) {
      const read = this.#of({ cluster, topic });
      if (id === read.at(-1) || !read.includes(id)) continue;
      const expected = `expected the topic id ${read.at(-1)} or a new one`;
      throw new Error(
        `topic ${topic}: ${expected}, found ${id}, which a broker knows from before it was created again`,
      );
    }
    for (const [topic, id] of there) this.#there.set(topic, id);
  }

  /** A partition of the topic that is read. */
  feedRead(cluster: string, topic: string, partition: number): Feed {
    return this.#feed({ cluster, topic }, partition, this.#of({ cluster, topic }).at(-1));
  }

  /** A partition of the topic that is there now. */
  feedThere(cluster: string, topic: string, partition: number): Feed {
    const id = this.#there.get(topic);
    return id === undefined ? this.feedRead(cluster, topic, partition) : this.#feed({ cluster, topic }, partition, id);
  }

  /** The topic's id of a feed; undefined where none is known. */
  idOf(feed: Feed): string | undefined {
    const found = kafkaPartition(feed);
    return found && (found.id ?? this.#of(found)[0]);
  }

  /** Topics of which another one is there than is read. */
  recreated(cluster: string): Recreated[] {
    return [...this.#there].flatMap(([topic, to]) => {
      const from = this.#of({ cluster, topic }).at(-1);
      return from === undefined || from === to ? [] : [{ topic, from, to }];
    });
  }

  /** Topics that are there with an id, of which none was noted yet. */
  unnoted(cluster: string): string[] {
    return [...this.#there.keys()].filter((topic) => this.#of({ cluster, topic }).length === 0);
  }

  /** What is to be noted where topics are read as they are there now. */
  notes(cluster: string, topics: Iterable<string>): Record<string, string[]> {
    const notes = { ...this.#read };
    for (const topic of topics) {
      const id = this.#there.get(topic);
      if (id !== undefined) notes[keyOf({ cluster, topic })] = [...this.#of({ cluster, topic }), id];
    }
    return notes;
  }

  /** They are noted: from now on these are read. */
  noted(notes: Readonly<Record<string, string[]>>): void {
    Object.assign(this.#read, notes);
  }

  #of(named: Named): readonly string[] {
    return this.#read[keyOf(named)] ?? [];
  }

  #feed(named: Named, partition: number, id: string | undefined): Feed {
    const first = this.#of(named)[0] ?? id;
    return kafkaFeed({ ...named, partition, ...(id === undefined || id === first ? {} : { id }) });
  }
}

function keyOf({ cluster, topic }: Named): string {
  return `${cluster}/${topic}`;
}
