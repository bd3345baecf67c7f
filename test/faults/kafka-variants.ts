/** What topics hold, and what their pipeline does about it. */
export interface KafkaVariant {
  name: string;
  /** It drops the later ones of events with one id. */
  dropsRepeats: boolean;
  /** Percent of events with an id that was there before. */
  repeats: number;
  /** Each with other names for the same fields. */
  topics: number;
  /** Of the consumer group, in the runs of the long form. */
  members: readonly number[];
  /**
   * The two topics are joined. `one`: each id is in both of them, and becomes one row. `many`: a right event serves many left
   * ones, and is replaced; both windows end.
   */
  joins?: "one" | "many";
  /** The second topic is in a cluster of its own. */
  clusters?: 2;
}

export const kafkaVariants = {
  unique: { name: "unique ids", dropsRepeats: false, repeats: 0, topics: 1, members: [1, 3] },
  repeats: { name: "dedup, 10 % repeats", dropsRepeats: true, repeats: 10, topics: 1, members: [1, 3] },
  topics: { name: "dedup, two topics", dropsRepeats: true, repeats: 10, topics: 2, members: [3] },
  join: { name: "join, 10 % repeats", dropsRepeats: true, repeats: 10, topics: 2, members: [1, 3], joins: "one" },
  many: { name: "join of many, windows", dropsRepeats: true, repeats: 10, topics: 2, members: [1], joins: "many" },
  clusters: {
    name: "join of two clusters",
    dropsRepeats: true,
    repeats: 10,
    topics: 2,
    members: [1],
    joins: "many",
    clusters: 2,
  },
} as const satisfies Record<string, KafkaVariant>;
