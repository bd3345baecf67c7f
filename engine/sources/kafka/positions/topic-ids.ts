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
  /** The ids of the topic that is read here, and of the topic that exists now. */
  from: string;
  to: string;
}

/**
 * The topic that a name means. Kafka gives each topic an id, which shows that a topic was created again; the partitions
 * of the new topic are feeds of their own, like those of another cluster. Feeds of the first topic of a name have no id
 * in them, so that the positions noted by earlier versions stay valid.
 */
export class TopicIds {
  /** By cluster and topic, oldest first: the last one is read. */
  readonly #read: Record<string, string[]>;
  /** The ids that the brokers named last, by topic. */
  readonly #there = new Map<string, string>();

  constructor(noted: Readonly<Record<string, string[]>> = {}) {
    this.#read = { ...noted };
  }

  /** The ids that the brokers name. Throws where an id is older than the one that is read: the broker lags. */
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

  /** A partition of the topic that exists now. */
  feedThere(cluster: string, topic: string, partition: number): Feed {
    const id = this.#there.get(topic);
    return id === undefined ? this.feedRead(cluster, topic, partition) : this.#feed({ cluster, topic }, partition, id);
  }

  /** The topic's id of a feed; undefined where none is known. */
  idOf(feed: Feed): string | undefined {
    const found = kafkaPartition(feed);
    return found && (found.id ?? this.#of(found)[0]);
  }

  /** Topics whose current id is not the one that is read. */
  recreated(cluster: string): Recreated[] {
    return [...this.#there].flatMap(([topic, to]) => {
      const from = this.#of({ cluster, topic }).at(-1);
      return from === undefined || from === to ? [] : [{ topic, from, to }];
    });
  }

  /** Topics whose id has not been noted yet. */
  unnoted(cluster: string): string[] {
    return [...this.#there.keys()].filter((topic) => this.#of({ cluster, topic }).length === 0);
  }

  /** The ids to note when topics are read by their current ids. */
  notes(cluster: string, topics: Iterable<string>): Record<string, string[]> {
    const notes = { ...this.#read };
    for (const topic of topics) {
      const id = this.#there.get(topic);
      if (id !== undefined) notes[keyOf({ cluster, topic })] = [...this.#of({ cluster, topic }), id];
    }
    return notes;
  }

  /** Takes ids that have been noted: from now on these topics are read. */
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
