import { isSecretOf, secretDigest } from "../../engine/index.ts";

/** Whether the header `authorization` has a valid token; `unknown` where the tokens cannot be read. */
export type TokenCheck = (authorization: string | undefined) => Promise<"yes" | "no" | "unknown">;

/** How long tokens that were read are used, in milliseconds: a flood of requests reads no file for each. */
const keptFor = 1_000;

interface Kept {
  until: number;
  digests: Promise<Buffer[]>;
}

/**
 * Checks tokens against those that `read` gives: it is called at most once a second, so a rotation needs no restart.
 * The time of a check does not depend on where a token differs. `failed` is called when `read` begins to fail.
 */
export function tokenCheck(read: () => Promise<readonly string[]>, failed: (error: unknown) => void): TokenCheck {
  let kept: Kept | undefined;
  let isFailing = false;
  const readDigests = async (): Promise<Buffer[]> => {
    try {
      const tokens = await read();
      isFailing = false;
      return tokens.map(secretDigest);
    } catch (error) {
      if (!isFailing) failed(error);
      isFailing = true;
      throw error;
    }
  };
  return async (authorization) => {
    if (kept === undefined || kept.until < performance.now()) {
      kept = { until: performance.now() + keptFor, digests: readDigests() };
    }
    let digests: Buffer[];
    try {
      digests = await kept.digests;
    } catch {
      return "unknown";
    }
    return isSecretOf(tokenIn(authorization) ?? "", digests) ? "yes" : "no";
  };
}

/** The token of `Bearer TOKEN`, or of `Basic` as the password of any user, which is what browsers can ask for. */
function tokenIn(authorization = ""): string | undefined {
  const [, scheme = "", value = ""] = /^(\w+) +(\S+)$/.exec(authorization.trim()) ?? [];
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return undefined;
  const text = Buffer.from(value, "base64").toString("utf8");
  return text.includes(":") ? text.slice(text.indexOf(":") + 1) : undefined;
}
