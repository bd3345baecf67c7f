import { clippedTo, foreignText } from "../../../peers/foreign-text.ts";
import { type Hide, hiding } from "../../../peers/hidden-secrets.ts";
import { targetNotAllowed } from "../../../peers/targets.ts";
import { UnreadableRecords } from "../protocol/unreadable.ts";
import type { KafkaConnection } from "../../../../schemas/pipeline.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { type Pause, quietAttempts } from "../../../core/pause.ts";

/** What a person can do about a pause of a source of Kafka; about its owner, see `waysOut`. */
export const waysOutOfKafka = {
  source: "correct the brokers, the login, the rights or the topic; it goes on by itself when they answer",
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

/** A group that cannot be adopted; `way_out` is what a person can do about that. */
export class AdoptionFailure extends Error {
  override readonly name = "AdoptionFailure";
  readonly way_out: string;

  constructor(text: string, way_out: string) {
    super(`adopt_group: ${text}`);
    this.way_out = way_out;
  }
}

/** What a person can do about a failure of a source. */
export function wayOutOfFailure(error: unknown): string {
  return error instanceof AdoptionFailure ? error.way_out : waysOutOfKafka.source;
}

/** What a connection met: a listener with or without TLS where it expected the other one, or that asks for a login. */
type Mismatch = "LISTENER_WITH_TLS" | "LISTENER_WITHOUT_TLS" | "LISTENER_WITH_LOGIN";

/** Gives an error the code of what the connection met. */
export function mismatch<E extends Error>(error: E, code: Mismatch): E {
  return Object.assign(error, { code });
}

/** Hides what brokers got from us and may send back. */
export function hidingFrom({ username, password, client_key }: KafkaConnection): Hide {
  // What a login with PLAIN holds.
  const login = password === undefined ? undefined : Buffer.from(`\0${username}\0${password}`).toString("base64");
  return hiding([password, client_key, login]);
}

export const nothingHidden: Hide = foreignText;

/** The most characters of a failure that are shown. */
const longest = 500;

/**
 * A Kafka failure as text for operators: the message of kafkajs with the type of the error within it. Brokers write a
 * part of it: `hide` removes the secrets of the connection.
 */
export function failureText(error: unknown, hide: Hide): string {
  const root = rootOf(error);
  const { message, type, broker } = root;
  const kind = type === undefined || message.includes(type) ? "" : ` (${type})`;
  const where = error instanceof TopicFailure ? `topic ${error.topic}: ` : "";
  const at = broker === undefined || message.includes(broker) ? "" : `, at ${broker}`;
  return clippedTo(hide(`${where}${message}${kind}${at}${wayOutOf(root)}`), longest);
}

/** What to do about a failure by its code or type, in so far as those say it. */
function wayOutOf({ code, type, group, mechanisms }: Root): string {
  switch (code ?? type) {
    case "LISTENER_WITH_TLS":
      return ": try protocol SSL, or SASL_SSL where it asks for a login";
    case "LISTENER_WITHOUT_TLS":
      return "; a listener without TLS does that: try protocol PLAINTEXT, or SASL_PLAINTEXT where it asks for a login";
    case "LISTENER_WITH_LOGIN":
      return "; a listener that asks for a login does that: try protocol SASL_PLAINTEXT, or SASL_SSL where it speaks TLS, and a mechanism";
    case "ILLEGAL_SASL_STATE":
      return ": the listener takes no login: try protocol PLAINTEXT, or SSL where it speaks TLS, without a mechanism";
    case "UNSUPPORTED_SASL_MECHANISM":
      return `: the listener takes ${mechanisms?.join(", ") ?? "others"}: set mechanism to one that it takes`;
    case "GROUP_AUTHORIZATION_FAILED":
      return `: the user needs the right READ on ${groupText(group)}`;
    case "INCONSISTENT_GROUP_PROTOCOL":
      return `: other consumers are in ${groupText(group)}, which is for Sluice alone: end them, or give them another group`;
    case "TOPIC_AUTHORIZATION_FAILED":
      return ": the user needs the right READ on the topic";
    case "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE":
    case "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED":
      return "; a listener that asks for a client certificate does that: set client_cert and client_key to one that it trusts";
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return ": set root_ca to the CA that signed the certificate of the brokers";
    default:
      return "";
  }
}

const forOperators = new Set([
  "UNKNOWN_TOPIC_OR_PARTITION",
  "INVALID_TOPIC_EXCEPTION",
  "TOPIC_AUTHORIZATION_FAILED",
  "GROUP_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "UNSUPPORTED_SASL_MECHANISM",
  "ILLEGAL_SASL_STATE",
  "INCONSISTENT_GROUP_PROTOCOL",
  "INVALID_SESSION_TIMEOUT",
]);

/** Whether it lasts until a person acts, so that it is shown at once. */
export function needsOperator(error: unknown): boolean {
  const { type, code, name, isRefused } = rootOf(error);
  const isMismatch = code === "LISTENER_WITH_TLS";
  return forOperators.has(type ?? "") || name === "KafkaJSSASLAuthenticationError" || isRefused || isMismatch;
}

/**
 * What the coordinator says of a member in place of an answer: the group does not know it (any more), has given its place to
 * another process, or shares its partitions out anew; undefined where the error is another one.
 */
export function groupErrorOf(error: unknown): "unknown" | "fenced" | "rebalances" | undefined {
  switch (rootOf(error).type) {
    case "UNKNOWN_MEMBER_ID":
      return "unknown";
    case "FENCED_INSTANCE_ID":
      return "fenced";
    case "ILLEGAL_GENERATION":
    case "REBALANCE_IN_PROGRESS":
      return "rebalances";
    default:
      return undefined;
  }
}

/** Records that cannot be read say where they are, which their cause does not know. */
function isWrapper(error: unknown): error is Error & { cause: Error } {
  return error instanceof Error && error.cause instanceof Error && !(error instanceof UnreadableRecords);
}

function groupText(group: string | undefined): string {
  return group === undefined ? "the consumer group" : `group ${group}`;
}

interface Root {
  message: string;
  name: string;
  type?: string;
  /** A code of Node, or of a mismatch. */
  code?: string;
  isRefused: boolean;
  broker?: string;
  /** The group that the request was about. */
  group?: string;
  /** The mechanisms that the listener takes. */
  mechanisms?: readonly string[];
}

/** kafkajs wraps errors in others: the innermost one says what it is. */
function rootOf(error: unknown): Root {
  let root = error;
  for (let depth = 0; depth < 10 && isWrapper(root); depth += 1) root = root.cause;
  const message = foreignText(root);
  if (!(root instanceof Error)) return { message, name: "", isRefused: false };
  const { code, type, broker, group, mechanisms } = root as Error & Partial<Record<keyof Root, unknown>>;
  const isRefused = code === targetNotAllowed;
  return {
    message,
    name: root.name,
    isRefused,
    ...(isRefused ? { type: targetNotAllowed } : typeof type === "string" && { type }),
    ...(typeof code === "string" && { code }),
    ...(typeof broker === "string" && { broker }),
    ...(typeof group === "string" && { group }),
    ...(Array.isArray(mechanisms) && { mechanisms: mechanisms.map(foreignText) }),
  };
}

/**
 * The failures that keep a running source from reading: what fails, and why. The first failure that lasts, or that
 * needs a person, begins a pause; the pause ends when no failure is left.
 */
export class SourceFailures {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #hide: Hide;
  readonly #shown = new Map<string, Pick<Pause, "text" | "way_out">>();
  /** When the pause began: the time that is shown, and the monotonic clock in milliseconds. */
  #since: { shown: string; at: number } | undefined;

  constructor(pipeline_id: string, telemetry: Telemetry, hide = nothingHidden) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#hide = hide;
  }

  /** Notes that `who` failed for the `attempt`th time in a row. */
  note(who: string, error: unknown, attempt: number): void {
    if (attempt < quietAttempts && !needsOperator(error)) return;
    const found = failureText(error, this.#hide);
    // Some name their partition themselves.
    const isNamed = error instanceof UnreadableRecords || found.startsWith(`${who}: `);
    const text = isNamed ? found : `${who}: ${found}`;
    if (this.#shown.get(who)?.text === text) return;
    const shown = { text, way_out: wayOutOfFailure(error) };
    this.#shown.set(who, shown);
    this.#since ??= { shown: new Date().toISOString(), at: performance.now() };
    this.#show(shown, this.#since.shown);
  }

  #show(shown: Pick<Pause, "text" | "way_out">, since: string): void {
    const pause = { class: "source" as const, since, ...shown };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause });
  }

  /** Notes that `who` works again. What still fails is shown then. */
  clear(who: string): void {
    if (!this.#shown.delete(who)) return;
    const last = [...this.#shown.values()].at(-1);
    if (last === undefined) this.#end();
    else this.#show(last, this.#since!.shown);
  }

  clearAll(): void {
    this.#shown.clear();
    this.#end();
  }

  #end(): void {
    if (this.#since === undefined) return;
    const seconds = (performance.now() - this.#since.at) / 1000;
    this.#since = undefined;
    this.#telemetry.pauseEnded({ pipeline_id: this.#pipeline_id, class: "source", seconds });
  }
}
