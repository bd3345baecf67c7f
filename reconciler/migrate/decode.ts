import type { ErrorObject } from "ajv";
import { validatorOf } from "#validators";
import schema from "../../schemas/pipeline-v2.schema.json" with { type: "json" };
import { parseDuration } from "../../schemas/index.ts";
import { maxDepth } from "../language/limits.ts";
import { found, kindOf } from "../language/problem.ts";
import { Field } from "./field.ts";
import { MigrationError, type Obstacle } from "./warning.ts";

/** Obstacles that are listed for one document. */
const most = 20;

const formats = { duration: (text: string) => parseDuration(text) !== undefined };

/** The keys that version v2 knows in `source.connection_params`. */
export const kafkaKeys: readonly string[] = Object.keys(schema.definitions.kafkaConnection.properties);

/** The keys that version v2 knows in `sink.connection_params`, and beside them in `sink`. */
export const clickhouseKeys: readonly string[] = Object.keys(schema.definitions.clickhouseConnection.properties);

/** The root of a document that is of the types of version v2. Throws MigrationError. */
export function decode(document: unknown): Field {
  const isDecodable = validatorOf("pipeline-v2", formats);
  if (!isDecodable(document)) throw new MigrationError("undecodable", obstacles(isDecodable.errors ?? []));
  const root = new Field([], document);
  const directives = root.get("x-sluice");
  if (isDeeperThan(directives.value, maxDepth)) {
    const expected = `at most ${maxDepth} collections inside each other`;
    throw new MigrationError("undecodable", [{ path: directives.path, expected, found: "more" }]);
  }
  return root;
}

function obstacles(errors: readonly ErrorObject[]): Obstacle[] {
  return errors.slice(0, most).map(({ instancePath, keyword, parentSchema, data }) => ({
    path: instancePath
      .split("/")
      .slice(1)
      .map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment)),
    expected: String(parentSchema?.["x-expected"]),
    found: foundBy(keyword, data),
  }));
}

/** For a value of a wrong kind only the kind is shown: it may be a password without quotes. */
function foundBy(keyword: string, data: unknown): string {
  if (keyword === "maxItems" && Array.isArray(data)) return `${data.length}`;
  return keyword === "format" ? found(data, []) : kindOf(data);
}

/** Without recursion: the depth comes from the file. */
function isDeeperThan(value: unknown, depth: number): boolean {
  let level = [value];
  for (let deep = 0; deep <= depth && level.length > 0; deep += 1) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return level.length > 0;
}
