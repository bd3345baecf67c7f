import type { Select } from "../transport/sql.ts";
import { RequestError } from "../transport/request-error.ts";

/**
 * The oldest supported ClickHouse: 22.2 added `insert_deduplication_token`, the newest of the settings, system columns
 * and headers that every insert needs.
 */
const oldest = [22, 2] as const;

/**
 * Why a server is too old; undefined where it is not, or where its version is not of the usual form. Checked first,
 * because an older server refuses the next statements with an unknown identifier.
 */
export function whyTooOld(version: string): string | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined || !isOlder(Number(major), Number(minor))) return undefined;
  return `this is ClickHouse ${version}, which is too old: version ${oldest.join(".")} or later is needed, as older ones do not recognise a repeated insert by its token; upgrade the server`;
}

function isOlder(major: number, minor: number): boolean {
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}

/** Such as `26.7.2.1`. Much older servers answer without the headers that identify an answer of ClickHouse. Throws a RequestError. */
export async function readVersion(select: Select): Promise<string> {
  try {
    const [row] = await select("SELECT version() AS version");
    return String(row?.["version"]);
  } catch (error) {
    const body = error instanceof RequestError && error.failure.from === "foreign" ? error.failure.body : undefined;
    const version = /^\s*\{"version":"(\d{1,4}\.\d{1,4}\.[\d.]{0,20}[\w.-]{0,20})"\}\s*$/.exec(body ?? "")?.[1];
    if (version === undefined) throw error;
    return version;
  }
}
