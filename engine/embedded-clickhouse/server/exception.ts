/** Codes that this server raises itself, with the numbers and names of ClickHouse. */
const codes = {
  BAD_ARGUMENTS: 36,
  NOT_IMPLEMENTED: 48,
  SYNTAX_ERROR: 62,
  UNKNOWN_TYPE_OF_QUERY: 78,
  UNKNOWN_COMPRESSION_METHOD: 89,
  UNKNOWN_SETTING: 115,
  READONLY: 164,
  REQUIRED_PASSWORD: 194,
  TOO_MANY_SIMULTANEOUS_QUERIES: 202,
  NETWORK_ERROR: 210,
  QUERY_IS_TOO_LARGE: 229,
  NOT_ENOUGH_SPACE: 243,
  ZLIB_INFLATE_FAILED: 354,
  INTO_OUTFILE_NOT_ALLOWED: 358,
  SESSION_NOT_FOUND: 372,
  SESSION_IS_LOCKED: 373,
  ACCESS_DENIED: 497,
  AUTHENTICATION_FAILED: 516,
  STD_EXCEPTION: 1001,
} as const;

/** Codes by HTTP status, as in ClickHouse's HTTP interface; 500 for all other codes. */
const statuses: readonly [status: number, codes: readonly number[]][] = Object.entries({
  400: [6, 8, 15, 25, 26, 27, 36, 37, 38, 41, 44, 53, 62, 72, 117, 123, 167, 168, 223, 321, 376, 427, 441, 675, 676],
  401: [194],
  403: [192, 193, 497, 512, 516],
  404: [46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 152, 336, 511],
  408: [159],
  411: [381],
  413: [229],
  415: [779],
  501: [48],
  503: [76, 209, 439],
}).map(([status, list]) => [Number(status), list]);

/** An error in ClickHouse's own form: `Code: N. DB::Exception: text. (NAME)`. */
export class Exception extends Error {
  readonly code: number;
  /** ClickHouse's name of the code, such as `UNKNOWN_TABLE`. */
  readonly type: string;

  constructor(code: number, type: string, text: string) {
    super(text);
    this.name = "Exception";
    this.code = code;
    this.type = type;
  }

  get status(): number {
    return statuses.find(([, list]) => list.includes(this.code))?.[0] ?? 500;
  }

  /** The body of the answer; clients take code and name from it. */
  body(version: string): string {
    return `Code: ${this.code}. DB::Exception: ${this.message} (${this.type}) (version ${version})\n`;
  }
}

/** An error that this server raises itself. */
export function raise(type: keyof typeof codes, text: string): Exception {
  return new Exception(codes[type], type, text);
}

/** Whether an error of the system says that a disk, or the quota of it, is full. */
export function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Reads an error of chDB. For an insert from a file its text is an exception within an exception and names the file:
 * both are removed, so that the text equals that of a server for a body.
 */
export function exceptionFrom(error: unknown): Exception {
  const text = error instanceof Error ? error.message : String(error);
  const code = /^Code: (\d+)/.exec(text)?.[1];
  if (code === undefined) return raise("STD_EXCEPTION", `${text}.`);
  const type = [...text.matchAll(/\(([A-Z][A-Z0-9_]{2,})\)/g)].at(-1)?.[1] ?? "UNKNOWN_EXCEPTION";
  const message = withoutMarks(text)
    .replace(/^(?:Code: \d+\. DB::Exception: )+/, "")
    .replace(/:? ?\(in file\/uri [^)]*\)/, "")
    .replace(/: data for INSERT was parsed from file/, "");
  return new Exception(Number(code), type, message.trimEnd());
}

/** Removes `(NAME)` and `(version ...)` from the end. */
function withoutMarks(text: string): string {
  const shorter = text.trimEnd().replace(/ ?\((?:[A-Z][A-Z0-9_]{2,}|version [^()]*)\)\.?$/, "");
  return shorter.length < text.length ? withoutMarks(shorter) : text;
}
