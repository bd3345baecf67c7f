import { migrate, MigrationError, type Warning } from "../../migrate/migrate.ts";
import type { PureAnswer } from "./pure-call.ts";
import { PureError } from "./request.ts";

/** Characters of warnings that a header carries: clients and proxies take heads of 8 KiB and more. */
const longestHeader = 4096;

/**
 * `POST /api/v1/pipeline/migrate-preview`: converts a v2 document; the body is the v3 document alone. What its author
 * must add or check is in the header `X-Sluice-Warnings`, a JSON array, cut after a whole warning if it is too long;
 * `X-Sluice-Warning-Count` says how many there are.
 */
export function previewMigration(body: unknown): PureAnswer {
  const { config, warnings } = converted(body);
  return {
    status: 200,
    body: JSON.stringify(config),
    headers: { "X-Sluice-Warning-Count": String(warnings.length), "X-Sluice-Warnings": header(warnings) },
  };
}

function converted(body: unknown): ReturnType<typeof migrate> {
  try {
    return migrate(body);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    const message = error.reason === "undecodable" ? "invalid v2 pipeline JSON" : "conversion failed";
    throw new PureError(422, "unprocessable_entity", message, { error: error.message });
  }
}

function header(warnings: readonly Warning[]): string {
  const texts: string[] = [];
  let length = 2;
  for (const { code, message } of warnings) {
    const text = ascii(JSON.stringify({ code, message }));
    length += text.length + 1;
    if (length > longestHeader) break;
    texts.push(text);
  }
  return `[${texts.join(",")}]`;
}

/** JSON in ASCII, as headers require. */
function ascii(json: string): string {
  return json.replaceAll(/[^ -~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
