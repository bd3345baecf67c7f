import type { Field } from "./field.ts";
import { leaf, text, type Part } from "./part.ts";
import type { Warn } from "./warning.ts";

/** A password, which v2 keeps in base64 and v3 as it is (specification, v2 and migration, 2.3). */
export function passwordOf(password: Field, warn: Warn): Part | undefined {
  if (password.text === "") return undefined;
  const decoded = decodedBase64(password.text);
  warn("V2_PASSWORD", password, {
    expected: "the password itself, best as a reference such as ${env:NAME}",
    found: decoded === undefined ? unchanged(password.text) : "its base64, as v2 has it, which was decoded",
  });
  return decoded === undefined ? text(password) : leaf(decoded, password);
}

function unchanged(password: string): string {
  return password.includes("${")
    ? "a reference, which was not changed: see that it does not lead to the base64 of v2"
    : "a text that is no base64, which was not changed";
}

/** The text that was encoded; undefined if nobody would have encoded it so: what is plain text must stay what it is. */
function decodedBase64(encoded: string): string | undefined {
  const digits = encoded.replaceAll(/[\r\n]/g, "");
  const bytes = Buffer.from(digits, "base64");
  const decoded = bytes.toString("utf8");
  const isSame = bytes.toString("base64") === digits && Buffer.from(decoded, "utf8").equals(bytes);
  return isSame && decoded !== "" && !/\p{Cc}/u.test(decoded) ? decoded : undefined;
}
