/** The steps of a batch's life at which a daemon is killed, in their order, and what must then be seen. */
export const steps = {
  "before prepare": { replayed: 0, repeated: 0, dropped: 0 },
  "after prepare": { replayed: 1, repeated: 0, dropped: 0 },
  "during the insert": { replayed: 1, repeated: 1, dropped: 0 },
  "after the insert": { replayed: 1, repeated: 1, dropped: 1 },
  "after commit": { replayed: 0, repeated: 0, dropped: 0 },
  "after trim": { replayed: 0, repeated: 0, dropped: 0 },
} as const satisfies Readonly<Record<string, Sight>>;

export type Step = keyof typeof steps;

/** What a kill must have caused at least: a kill that hit nothing proves nothing. */
export interface Sight {
  /** Batches taken from the journal. */
  replayed: number;
  /** Inserts sent again with their token. */
  repeated: number;
  /** Inserts that the server dropped as repeats, of all pipelines. */
  dropped: number;
}
