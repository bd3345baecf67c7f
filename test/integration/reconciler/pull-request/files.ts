import type { ClickHouseProxy } from "../../../support/clickhouse-proxy.ts";
import type { TestClickHouse } from "../../../support/clickhouse.ts";
import type { TestKafka } from "../../../support/kafka/test-kafka.ts";
import type { PullRequest } from "../../../unit/preview/pull-requests.ts";
import { textsOf } from "../../../unit/preview/sides.ts";

/** The servers that pull requests are carried out with. */
export interface Servers {
  kafka: TestKafka;
  /** Beside the embedded one. */
  clickhouse: TestClickHouse;
  /** In front of it. */
  proxy: ClickHouseProxy;
}

/** A file by its path. */
export type Files = Record<string, string>;

/** One side of a pull request as it can be carried out. */
export interface Side {
  files: Files;
  variables: Record<string, string>;
}

/**
 * Both sides with pipelines, tables and topics that no other pull request has, and servers that are there: all of
 * them share one engine.
 */
export function sidesOf(request: PullRequest, number: number, servers: Servers): { base: Side; head: Side } {
  const spelled = (text: string): string => spelling(text, number, servers);
  const { base: before = {}, head: after = before } = request.variables ?? {};
  const side = (tree: PullRequest["base"], values: Record<string, string>): Side => ({
    files: mapped(textsOf(tree), spelled),
    variables: mapped(values, (topic) => `${topic}-${number}`),
  });
  return { base: side(request.base, before), head: side(request.head, after) };
}

function spelling(text: string, number: number, { kafka, clickhouse, proxy }: Servers): string {
  const [broker = ""] = kafka.access.plaintext;
  return (
    text
      .replaceAll(
        /(?<=\b(?:pipeline_id|topic|moved_from): |depends_on: \[|topics: \[\{ name: |\{ source_id: (?=events, name))[\w-]+/g,
        `$&-${number}`,
      )
      .replaceAll(/(?<=\btable: )\w+/g, `$&_${number}`)
      .replaceAll('"kafka:9092"', `"${broker}"`)
      // The same cluster by another name.
      .replaceAll('"kafka-2:9092"', `"${broker.replace("127.0.0.1", "localhost")}"`)
      .replaceAll("ch.example.com", "127.0.0.1")
      .replaceAll(
        'port: "8123"',
        `port: "${new URL(clickhouse.url).port}"\n    http_port: "${new URL(clickhouse.url).port}"`,
      )
      .replaceAll('port: "8124"', `port: "${proxy.port}"\n    http_port: "${proxy.port}"`)
      .replaceAll("username: u\n", `username: ${clickhouse.username}\n`)
  );
}

/** What a pull request said, in the names that it was written with. */
export function withoutNumber(text: string, number: number): string {
  return text.replaceAll(new RegExp(`-${number}(?![\\w-])`, "g"), "");
}

function mapped(of: Record<string, string>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));
}
