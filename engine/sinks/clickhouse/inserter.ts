import type { ClickHouseSettings } from "@clickhouse/client";
import type { Answer, Block } from "../../core/sink.ts";
import { answered } from "./answered.ts";
import type { Connection } from "./connection.ts";
import { insertAnswer } from "./failures.ts";
import { ignoringViews, tokenSetting } from "./insert.ts";
import { PartitionLimit } from "./partition-limit.ts";
import type { TargetReader } from "./target-reading.ts";

/** One insert: the rows of `block`, by `statement`, with the settings that every insert brings. */
export interface Insert {
  block: Block;
  statement: string;
  settings: ClickHouseSettings;
  token: string;
  ignoreViews: boolean;
  signal: AbortSignal;
}

/** Sends inserts to one table, and says what became of them. */
export class Inserter {
  /** The limit of partitions, as far as this user may raise it. */
  readonly partitions = new PartitionLimit();
  readonly #connection: Connection;
  readonly #target: TargetReader;

  constructor(connection: Connection, target: TargetReader) {
    this.#connection = connection;
    this.#target = target;
  }

  /** One that meets the limit of partitions is sent again at once, with its token and a higher limit. */
  async send(insert: Insert): Promise<Answer> {
    const limit = this.partitions.settings;
    const answer = await this.#send(insert, limit);
    if (answer.kind === "ok" || answer.failure.class !== "partitions") return answer;
    if (PartitionLimit.setting in limit || !this.partitions.raise()) return answer;
    // A view met the limit, and the table has the rows: they would be doubled where it does not drop repeats.
    if (answer.kind === "unknown" && this.#target.reach?.atLeastOnce !== undefined) return answer;
    const raised = await this.#send(insert, this.partitions.settings);
    if (raised.kind === "ok") return raised;
    if (PartitionLimit.isForbidden(raised.failure)) {
      this.partitions.giveUp();
      return answer;
    }
    // What the first attempt may have written, the second one cannot have undone.
    return { kind: answer.kind === "unknown" ? "unknown" : raised.kind, failure: raised.failure };
  }

  #send({ block, statement, token, ignoreViews, signal, ...insert }: Insert, limit: ClickHouseSettings) {
    const views = ignoreViews ? ignoringViews : {};
    const settings = { ...insert.settings, ...views, ...limit, [tokenSetting]: token };
    const { views: known, isOnePart } = this.#target.reach ?? { views: [], isOnePart: false };
    this.#target.countInsert();
    return answered<Answer>(
      this.#connection,
      async () => {
        await this.#connection.run(statement, { body: block.body, settings, signal });
        return { kind: "ok" };
      },
      (trouble) => insertAnswer(trouble, { views: known, isOnePart, rows: block.events.length }),
    );
  }
}
