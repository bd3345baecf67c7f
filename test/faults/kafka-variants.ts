/** What a topic holds, and what its pipeline does about it. */
export interface KafkaVariant {
  name: string;
  /** It drops the later ones of events with one id. */
  dropsRepeats: boolean;
  /** Percent of events with an id that was there before. */
  repeats: number;
}

export const kafkaVariants = {
  unique: { name: "unique ids", dropsRepeats: false, repeats: 0 },
  repeats: { name: "dedup, 10 % repeats", dropsRepeats: true, repeats: 10 },
} as const satisfies Record<string, KafkaVariant>;
