/** Bytes that break Kafka's protocol, or come to too many. The message says what was expected and what was found. */
export class Unreadable extends Error {
  override readonly name: string = "Unreadable";
}

/**
 * The records of a partition cannot be read at an offset. Reading again gives the same bytes, so a person has to act.
 */
export class UnreadableRecords extends Unreadable {
  override readonly name = "UnreadableRecords";
  readonly topic: string;
  readonly partition: number;
  /** The first offset that was not handed out. */
  readonly offset: number;

  constructor(topic: string, partition: number, offset: number, cause: Unreadable) {
    super(`topic ${topic}, partition ${partition}, offset ${offset}: ${cause.message}`, { cause });
    this.topic = topic;
    this.partition = partition;
    this.offset = offset;
  }
}

/** Compressed records that come to more bytes than one batch may hold. */
export function tooLarge(most: number, found: string): Unreadable {
  return new Unreadable(`expected them to come to at most ${most} bytes, found ${found}`);
}
