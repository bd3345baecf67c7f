import { isUtf8 } from "node:buffer";

/** Deeper events are refused: nothing behind the door has to guard its stack. */
const maxDepth = 100;

/** What is wrong with a body that should be one JSON object; undefined if nothing is. */
export function problemOfBody(body: Buffer): string | undefined {
  if (body.length === 0) return "expected a JSON object, found an empty body";
  if (!isUtf8(body)) return "expected a JSON object in UTF-8, found bytes that are not UTF-8";
  if (depthOf(body) > maxDepth) return `expected a JSON object at most ${maxDepth} levels deep`;
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch (error) {
    return `expected a JSON object, found text that is not JSON: ${(error as Error).message.slice(0, 120)}`;
  }
  if (value === null) return "expected a JSON object, found null";
  if (Array.isArray(value)) return "expected a JSON object, found an array: send one event per request";
  return typeof value === "object" ? undefined : `expected a JSON object, found a ${typeof value}`;
}

const [quote, backslash, openObject, closeObject, openArray, closeArray] = Buffer.from('"\\{}[]');

/** The deepest nesting of objects and arrays. */
function depthOf(body: Buffer): number {
  if (body.length <= 2 * maxDepth) return 0;
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (isInString) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === openObject || byte === openArray) deepest = Math.max(deepest, (depth += 1));
    else if (byte === closeObject || byte === closeArray) depth -= 1;
  }
  return deepest;
}
