import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../../engine/index.ts";
import { ClickHouseProxy, exception, type Fate } from "../../support/clickhouse-proxy.ts";
import { Workplace } from "../../support/daemon.ts";
import { Random } from "../../support/random.ts";
import type { TableAudit } from "../counted-table.ts";
import type { KafkaServers } from "../kafka-servers.ts";
import { KafkaSubject } from "../kafka-subject.ts";
import { kafkaVariants } from "../kafka-variants.ts";
import { longPatience, until } from "../patience.ts";

const said = (status: number, body: string): Fate => ({ kind: "belie", said: { kind: "answer", status, body } });

/** What is said instead of the answer to an insert that was carried out. */
export const lateErrors = {
  "159 TIMEOUT_EXCEEDED": {
    kind: "belie",
    said: exception(159, "TIMEOUT_EXCEEDED", "Timeout exceeded: elapsed 1001.5 ms, maximum: 1000 ms"),
  },
  "394 QUERY_WAS_CANCELLED": { kind: "belie", said: exception(394, "QUERY_WAS_CANCELLED", "Query was cancelled") },
  "500 with an unknown code": { kind: "belie", said: exception(4711, "BRAND_NEW", "Something new") },
  "500 without a code": said(500, "Internal Server Error"),
  "504 of a proxy": said(504, "<html>Gateway Time-out</html>"),
  "a reset": { kind: "lose" },
} as const satisfies Record<string, Fate>;

export type LateError = keyof typeof lateErrors;

/** The pipeline is edited when so many answers were falsified, or when it is paused for them. */
export type Edited = "retrying" | "paused";

export interface LateErrorReport extends TableAudit {
  error: LateError;
  edited: Edited;
  distinct: number;
  /** Rows that were in the table when the pipeline was edited, and had no true answer. */
  inDoubt: number;
  /** Inserts that were carried out, with another answer. */
  belied: number;
  /** How their answers were judged. */
  judged: { unknown: number; refused: number };
  /** Repeats that the server dropped. */
  dropped: number;
  /** Batches that `on_uncertain` decided about. */
  uncertain: number;
}

const events = 1_000;
/** Rows of a full batch, before and after the edit: a batch that is made anew has other rows. */
const [rows, rowsAfterEdit] = [100, 70];
/** Inserts that are answered truly before the first that is not. */
const insertsBefore = 2;

/** `sluice run` before a proxy that carries inserts out, and says something else. Its pipelines come one after the other. */
export class LateErrors {
  readonly #servers: KafkaServers;
  readonly #place: Workplace;
  readonly #proxy: ClickHouseProxy;
  readonly #lines: string[] = [];
  #daemon: Daemon | undefined;

  private constructor(servers: KafkaServers, place: Workplace, proxy: ClickHouseProxy) {
    this.#servers = servers;
    this.#place = place;
    this.#proxy = proxy;
  }

  static async start(servers: KafkaServers): Promise<LateErrors> {
    return new LateErrors(servers, await Workplace.make(), await ClickHouseProxy.start(servers.server.url));
  }

  async clean(): Promise<void> {
    await this.#place.clean();
    await this.#proxy.close();
  }

  /** Inserts are carried out and answered with `error` until the pipeline has been edited; then all is audited. */
  async meet(error: LateError, edited: Edited): Promise<LateErrorReport> {
    const variant = kafkaVariants.unique;
    const subject = await KafkaSubject.create({
      ...this.#servers,
      variant,
      members: 1,
      random: new Random(0),
      rows,
    });
    const { pipeline_id, table, mix } = subject;
    const dropped = await table.dropped();
    const before = this.#proxy.handled.length;
    let inserts = 0;
    this.#proxy.decideInserts(() => ((inserts += 1) <= insertsBefore ? { kind: "pass" } : lateErrors[error]));
    await subject.produce(events);
    const started = await subject.prepare(this.#place, String(this.#proxy.port));
    const daemon = (this.#daemon ??= await this.#place.start({
      ...started,
      onLine: (line) => this.#lines.push(line),
    }));
    const health = (): Promise<PipelineHealth> => daemon.get(`/api/v1/pipeline/${pipeline_id}/health`);
    const belied = (): number =>
      this.#proxy.handled.slice(before).filter(({ fate }) => fate === "belie" || fate === "lose").length;
    const isMet = async (): Promise<boolean> =>
      edited === "retrying" ? belied() > 0 : (await health()).paused !== undefined;
    await until(daemon, `to meet ${error}`, isMet, longPatience);
    await subject.write(this.#place, String(this.#proxy.port), { rows: rowsAfterEdit });
    const isEdited = (): boolean => this.#says(pipeline_id, /A change was applied.*kind=update/) > 0;
    await until(daemon, "to be edited", isEdited, longPatience);
    const inDoubt = (await table.rows()) - insertsBefore * rows;
    this.#proxy.decide();
    await until(daemon, "to read all that was produced", () => subject.isRead(), longPatience);
    await until(daemon, "to settle", async () => (await health()).pending_batches === 0, longPatience);
    const report: LateErrorReport = {
      ...(await table.audit(mix.distinct)),
      error,
      edited,
      distinct: mix.distinct,
      inDoubt,
      belied: belied(),
      judged: {
        unknown: this.#says(pipeline_id, /Insert failed.*unknown=true/),
        refused: this.#says(pipeline_id, /Insert failed.*unknown=false/),
      },
      dropped: (await table.dropped()) - dropped,
      uncertain: this.#says(pipeline_id, /uncertain/),
    };
    await subject.remove();
    return report;
  }

  /** Lines of the log about a pipeline. */
  #says(pipeline_id: string, what: RegExp): number {
    return this.#lines.filter((line) => line.includes(pipeline_id) && what.test(line)).length;
  }
}

/** What a report says that must not be; empty where each event is there once, and the errors were taken for what they are. */
export function brokenByLateError(report: LateErrorReport): string[] {
  const { count, unique, distinct, lost, doubled, inDoubt, belied, judged, dropped, uncertain } = report;
  const isWhole = count === distinct && unique === distinct;
  const claims: [boolean, string][] = [
    [!isWhole, `expected ${distinct} rows and ids, found ${count} rows and ${unique} ids`],
    [lost.length > 0, `lost: ${lost.join(", ")}`],
    [doubled.length > 0, `doubled: ${doubled.join(", ")}`],
    [judged.refused > 0, `${judged.refused} inserts that were carried out were taken for refused`],
    [judged.unknown === 0, "expected answers to be judged unknown, found none"],
    [uncertain > 0, `${uncertain} batches were uncertain, with a table that knows them`],
    [inDoubt <= 0 || belied === 0, "expected rows without a true answer when it was edited, found none"],
    [dropped === 0, "expected the server to drop a repeat, saw none"],
  ];
  return claims.filter(([isBroken]) => isBroken).map(([, text]) => text);
}
