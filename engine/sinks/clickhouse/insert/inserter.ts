import type { ClickHouseSettings } from "@clickhouse/client";
import type { Answer, Block, Failure } from "../../../core/sink.ts";
import { asAnswer, insertAnswer } from "../transport/failures.ts";
import type { Connection } from "../transport/connection.ts";
import { ignoringViews, tokenSetting } from "./insert-settings.ts";
import type { TargetReader } from "../target/target-reader.ts";
import { allows, type Profile } from "./profile.ts";

/** One insert: the rows of `block`, by `statement`, with the settings of every insert. */
export interface Insert {
  block: Block;
  statement: string;
  settings: ClickHouseSettings;
  token: string;
  /** Whether the settings make one block of the rows on this server, for sure. */
  isOneBlock: boolean;
  ignoreViews: boolean;
  signal: AbortSignal;
}

/** Sends inserts to one table. */
export class Inserter {
  /** The limit of partitions per insert, which this user may be allowed to raise. */
  readonly partitions = new PartitionLimit();
  readonly #connection: Connection;
  readonly #target: TargetReader;

  constructor(connection: Connection, target: TargetReader) {
    this.#connection = connection;
    this.#target = target;
  }

  /** An insert that exceeds the limit of partitions is sent again at once, with its token and a higher limit. */
  async send(insert: Insert): Promise<Answer> {
    const limit = this.partitions.settings;
    const answer = await this.#send(insert, limit);
    if (answer.kind === "ok" || answer.failure.class !== "partitions") return answer;
    if (PartitionLimit.setting in limit || !this.partitions.raise()) return answer;
    // A view exceeded the limit, and the table has the rows: if it does not deduplicate, they would be doubled.
    if (answer.kind === "unknown" && this.#target.written?.atLeastOnce !== undefined) return answer;
    const raised = await this.#send(insert, this.partitions.settings);
    if (raised.kind === "ok") return raised;
    if (PartitionLimit.isForbidden(raised.failure)) {
      this.partitions.giveUp();
      return answer;
    }
    // The first attempt may have written rows, whatever the second one answered.
    return { kind: answer.kind === "unknown" ? "unknown" : raised.kind, failure: raised.failure };
  }

  #send({ block, statement, token, isOneBlock, ignoreViews, signal, ...insert }: Insert, limit: ClickHouseSettings) {
    const views = ignoreViews ? ignoringViews : {};
    const settings = { ...insert.settings, ...views, ...limit, [tokenSetting]: token };
    const known = this.#target.written?.views ?? [];
    this.#target.countInsert();
    return asAnswer<Answer>(
      this.#connection,
      async () => {
        await this.#connection.run(statement, { body: block.body, settings, signal });
        return { kind: "ok" };
      },
      (reason) => insertAnswer(reason, { views: known, isOneBlock, rows: block.events.length }),
    );
  }
}

/** The raised limit of partitions per insert, and its setting. */
const name = "max_partitions_per_insert_block";
const most = 1000;
/** READONLY and SETTING_CONSTRAINT_VIOLATION. */
const forbidden = new Set([164, 452]);

/**
 * The limit of partitions in one insert. It is raised after an insert has exceeded it, if the user's profile allows that,
 * and stays raised: a table that needs it once needs it again.
 */
export class PartitionLimit {
  static readonly setting = name;
  #mayRaise = true;
  #isRaised = false;

  /** Sent with an insert. */
  get settings(): ClickHouseSettings {
    return this.#isRaised ? { [name]: String(most) } : {};
  }

  /** If the profile is unknown, a higher limit is tried. */
  learn(profile: Profile | undefined): void {
    // 0 means no limit.
    const current = Number(profile?.get(name)?.value ?? 1);
    this.#mayRaise = profile === undefined || (current > 0 && current < most && allows(profile, name, String(most)));
    this.#isRaised &&= this.#mayRaise;
  }

  /** Whether the server refused an insert because it may not raise the limit. */
  static isForbidden({ code, text }: Failure): boolean {
    return code !== undefined && forbidden.has(code) && text.includes(name);
  }

  /** Call after an insert exceeded the limit. False where it cannot be raised. */
  raise(): boolean {
    this.#isRaised = this.#mayRaise;
    return this.#isRaised;
  }

  /** Call after the server refused the raised limit. */
  giveUp(): void {
    this.#mayRaise = false;
    this.#isRaised = false;
  }
}
