import { type Sight, steps } from "./steps.ts";

/** What a kill of a process that reads from Kafka must have caused at least. */
export interface KafkaSight extends Sight {
  /** Positions of the batch that came to the step of which the group had heard nothing. */
  behind: number;
}

/** The steps of a batch that was read from Kafka at which the process is killed, in their order. */
export const kafkaSteps = {
  /** It was read, and is nowhere but in memory. */
  "before prepare": { ...steps["before prepare"], behind: 0 },
  "after prepare": { ...steps["after prepare"], behind: 0 },
  "during the insert": { ...steps["during the insert"], behind: 0 },
  "after the insert": { ...steps["after the insert"], behind: 0 },
  /** Its positions are final in the journal, and the group has not heard of it. */
  "after commit": { ...steps["after commit"], behind: 1 },
  /** The broker has its offsets, and the answer to that is not heard. */
  "offset commit unanswered": { replayed: 0, repeated: 0, dropped: 0, behind: 0 },
  /** Several inserts are in flight: a later one is written, and the answer to an earlier one was never heard. */
  "later batch written": { replayed: 2, repeated: 1, dropped: 1, behind: 0 },
  /** A later batch is final in the journal, while the answer to the offsets of an earlier one is outstanding. */
  "later batch committed": { replayed: 0, repeated: 0, dropped: 0, behind: 1 },
} as const satisfies Readonly<Record<string, KafkaSight>>;

/** The further steps of a batch of a join's sides, into the log of the join. */
export const joinSteps = {
  /** It is in the file of the log, and not durable. */
  "join step written": { replayed: 1, repeated: 0, dropped: 0, behind: 0 },
  /** It is durable, and its batch is not committed. */
  "join step durable": { replayed: 1, repeated: 0, dropped: 0, behind: 0 },
} as const satisfies Readonly<Record<string, KafkaSight>>;

export type KafkaStep = keyof typeof kafkaSteps | keyof typeof joinSteps;

export const allSteps: Readonly<Record<KafkaStep, KafkaSight>> = { ...kafkaSteps, ...joinSteps };
