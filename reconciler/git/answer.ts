/** How an HTTP server answered the last request of a git command. */
export interface Answer {
  status: number;
  /** Milliseconds during which it asks not to be asked again. */
  retryAfter?: number;
  /** It counts requests, and this was one too many. */
  limited: boolean;
  location?: string;
}

/** Milliseconds. A server that asks for more than a day is broken. */
const longestWait = 24 * 60 * 60 * 1000;

/** A line of GIT_TRACE_CURL, which is among what git says on its standard error. */
const traceLine = /^\d\d:\d\d:\d\d\.\d+ \S+ +(.*)$/;

/** What git itself says, without the trace. */
export function withoutTrace(output: string): string {
  return output
    .split("\n")
    .filter((line) => !traceLine.test(line))
    .join("\n");
}

/** Why a connection could not be made, of which git itself says less. */
export function connectionTrouble(output: string): string {
  return [...output.matchAll(/== Info: connect to .* failed: (.*)$/gm)].map(([, why]) => why).join("\n");
}

/** Reads the last answer from git's trace of headers; undefined where no server answered. `now`: ms since the epoch. */
export function lastAnswer(output: string, now: number): Answer | undefined {
  let status: number | undefined;
  let headers = new Map<string, string>();
  for (const line of output.split("\n")) {
    const received = /^<= Recv header: (.*?)\r?$/.exec(traceLine.exec(line)?.[1] ?? "")?.[1];
    if (received === undefined) continue;
    const first = /^HTTP\/[\d.]+ (\d{3})/.exec(received)?.[1];
    if (first !== undefined) [status, headers] = [Number(first), new Map()];
    const [, name, value] = /^([\w-]+): *(.*)$/.exec(received) ?? [];
    if (name !== undefined) headers.set(name.toLowerCase(), value ?? "");
  }
  return status === undefined ? undefined : readAnswer(status, headers, now);
}

function readAnswer(status: number, headers: ReadonlyMap<string, string>, now: number): Answer {
  const exhausted = headers.get("x-ratelimit-remaining") === "0" || headers.get("ratelimit-remaining") === "0";
  const limited = status === 429 || (status === 403 && (exhausted || headers.has("retry-after")));
  const retryAfter =
    wait(headers.get("retry-after"), now) ??
    (exhausted ? untilReset(headers.get("x-ratelimit-reset"), now) : undefined);
  const location = headers.get("location");
  return {
    status,
    limited,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(location !== undefined && { location }),
  };
}

/** `Retry-After` has seconds or a date. */
function wait(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  return bounded(/^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now);
}

/** Seconds since the epoch. */
function untilReset(value: string | undefined, now: number): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? bounded(Number(value) * 1000 - now) : undefined;
}

function bounded(milliseconds: number): number | undefined {
  return Number.isNaN(milliseconds) ? undefined : Math.min(Math.max(0, milliseconds), longestWait);
}
