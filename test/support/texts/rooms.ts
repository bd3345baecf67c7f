import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { holds, named, type Sentence, sentencesOf } from "./sentences.ts";

/**
 * The folders of the engine: those whose sentences become texts of dead letters or pauses, and the others, each with why
 * theirs do not. A folder that is not named here is a failure of the test.
 */
export const rooms: Readonly<Record<string, { speaks: true } | { speaks: false; because: string }>> = {
  ...of({ speaks: true }, [
    "batch",
    "core",
    "delivery",
    "event",
    "expression",
    "expression/compile",
    "expression/functions",
    "expression/values",
    "flow",
    "join",
    "keys",
    "peers",
    "sinks",
    "sinks/clickhouse",
    "sinks/clickhouse/encode",
    "sinks/clickhouse/insert",
    "sinks/clickhouse/target",
    "sinks/clickhouse/transport",
    "sources/kafka",
    "sources/kafka/brokers",
    "sources/kafka/clusters",
    "sources/kafka/group",
    "sources/kafka/positions",
    "sources/kafka/reading",
    "sources/stream",
    "state",
    "transforms",
    "transforms/declared-fields",
    "transforms/dedup",
    "transforms/filter",
    "transforms/stateless",
    "workers",
  ]),
  ...of({ speaks: false, because: "a file whose expressions do not pass is refused before it runs" }, [
    "expression/check",
    "expression/syntax",
    "expression/reference",
  ]),
  ...of({ speaks: false, because: "what is refused is answered to its sender, and nothing is stored" }, [
    "http",
    "ingest",
    "sources/otlp",
    "sources/otlp/decoding",
    "sources/otlp/json",
    "sources/otlp/proto",
    "sources/otlp/protobuf",
    "sources/otlp/receiver",
    "sources/otlp/rows",
    "sources/webhook",
  ]),
  ...of({ speaks: false, because: "a full stream is answered to its senders, a damaged one fails its pipeline" }, [
    "streams",
    "streams/embedded",
  ]),
  ...of({ speaks: false, because: "answers of calls, log lines and names of metrics" }, [
    "",
    "catalog",
    "telemetry",
    "trial",
  ]),
  ...of({ speaks: false, because: "another process, whose failures arrive as those of a server" }, [
    "embedded-clickhouse",
    "embedded-clickhouse/server",
    "embedded-clickhouse/server/tokens",
  ]),
  ...of({ speaks: false, because: "calls of the operating system, whose failures the rooms above name" }, ["system"]),
  ...of(
    { speaks: false, because: "the grammar of column types: a file is refused; of a type of the table some are shown" },
    ["sinks/clickhouse/columns"],
  ),
  ...of({ speaks: false, because: "the registry of kinds" }, ["sources"]),
  ...of(
    {
      speaks: false,
      because: "some sixty texts of bytes that are not records; test/fuzz reads mutated ones, the page shows two",
    },
    ["sources/kafka/protocol"],
  ),
};

/** Files of folders that speak, whose sentences are no text of a dead letter or a pause: each with what they are. */
export const quietFiles: Readonly<Record<string, string>> = {
  "sinks/clickhouse/insert/profile-review.ts": "the condition ProfileSettings",
  "sinks/clickhouse/insert/reviewed-settings.ts": "the condition ProfileSettings, and reasons of rules",
};

type Room = (typeof rooms)[string];

function of(room: Room, names: readonly string[]): Record<string, Room> {
  return Object.fromEntries(names.map((name) => [name, room]));
}

/** The sources of the engine, from its folder. */
export function engineSources(): string[] {
  return readdirSync("engine", { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".d.ts"),
  );
}

/** A sentence with the file that it is in. */
export type Placed = Sentence & { path: string };

/** A statement for ClickHouse. */
const statement = /^SELECT /;

/** The sentences of the rooms that speak, without statements. */
export function spokenSentences(): Placed[] {
  return engineSources()
    .filter((path) => rooms[folderOf(path)]?.speaks === true && !Object.hasOwn(quietFiles, path))
    .flatMap((path) => sentencesOf(readFileSync(`engine/${path}`, "utf8")).map((one) => ({ ...one, path })))
    .filter((one) => !statement.test(named(one)));
}

export function folderOf(path: string): string {
  const folder = dirname(path);
  return folder === "." ? "" : folder;
}

/** The sentences that no text holds, as `path: sentence`. */
export function unmet(sentences: readonly Placed[], texts: readonly string[]): string[] {
  return [...new Set(sentences.filter((one) => !texts.some((text) => holds(text, one))).map(placeOf))];
}

export function placeOf(one: Placed): string {
  return `${one.path}: ${named(one)}`;
}
