import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { type Pause, quietAttempts } from "../../../core/pause.ts";

/** What a person can do about a pause of a source of Kafka. */
export const waysOutOfKafka = {
  source: "correct the brokers, the login, the rights or the topic; it goes on by itself when they answer",
  owner: `stop the other process, or set x-sluice.take_over to its run, such as "0a1b2c3d", to go on from its offsets`,
  lost: "restore the missing events, set x-sluice.on_lost: skip to go on without them, or stop the pipeline and move its consumer group to the offsets to go on from",
} as const satisfies Partial<Record<Pause["class"], string>>;

/** A failure that concerns one topic of several. */
export class TopicFailure extends Error {
  override readonly name = "TopicFailure";
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic}`, { cause });
    this.topic = topic;
  }
}

/**
 * A Kafka failure as text for operators: the message of kafkajs with the type of the error within it. Holds no secret.
 */
export function failureText(error: unknown): string {
  const { message, type } = rootOf(error);
  const kind = type === undefined || message.includes(type) ? "" : ` (${type})`;
  const where = error instanceof TopicFailure ? `topic ${error.topic}: ` : "";
  return `${where}${message}${kind}`;
}

const forOperators = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "INVALID_TOPIC_EXCEPTION",
  "TOPIC_AUTHORIZATION_FAILED",
  "GROUP_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "UNSUPPORTED_SASL_MECHANISM",
  "INCONSISTENT_GROUP_PROTOCOL",
  "INVALID_SESSION_TIMEOUT",
]);

/** Whether it lasts until a person acts, so that it is shown at once. */
export function needsOperator(error: unknown): boolean {
  const { type, name } = rootOf(error);
  return (type !== undefined && forOperators.has(type)) || name === "KafkaJSSASLAuthenticationError";
}

/** Whether the group does not have this member: it expired, or was removed. */
export function isUnknownMember(error: unknown): boolean {
  return rootOf(error).type === "UNKNOWN_MEMBER_ID";
}

/** kafkajs wraps errors in others: the innermost one says what it is. */
function rootOf(error: unknown): { message: string; name: string; type: string | undefined } {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause instanceof Error; depth += 1) root = root.cause;
  if (!(root instanceof Error)) return { message: String(root), name: "", type: undefined };
  const { type } = root as Error & { type?: unknown };
  return { message: root.message, name: root.name, type: typeof type === "string" ? type : undefined };
}

/**
 * The failures that keep a running source from reading: what fails, and why. The first failure that lasts, or that
 * needs a person, begins a pause; the pause ends when no failure is left.
 */
export class SourceFailures {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #texts = new Map<string, string>();
  /** When the pause began: the time that is shown, and the monotonic clock in milliseconds. */
  #since: { shown: string; at: number } | undefined;

  constructor(pipeline_id: string, telemetry: Telemetry) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
  }

  /** Notes that `who` failed for the `attempt`th time in a row. */
  note(who: string, error: unknown, attempt: number): void {
    if (attempt < quietAttempts && !needsOperator(error)) return;
    const text = `${who}: ${failureText(error)}`;
    if (this.#texts.get(who) === text) return;
    this.#texts.set(who, text);
    this.#since ??= { shown: new Date().toISOString(), at: performance.now() };
    const pause = { class: "source" as const, since: this.#since.shown, text, way_out: waysOutOfKafka.source };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause });
  }

  /** Notes that `who` works again. */
  clear(who: string): void {
    if (!this.#texts.delete(who) || this.#texts.size > 0 || this.#since === undefined) return;
    const seconds = (performance.now() - this.#since.at) / 1000;
    this.#since = undefined;
    this.#telemetry.pauseEnded({ pipeline_id: this.#pipeline_id, class: "source", seconds });
  }

  clearAll(): void {
    for (const who of this.#texts.keys()) this.clear(who);
  }
}
