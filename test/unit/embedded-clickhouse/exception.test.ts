import { describe, expect, test } from "vitest";
import { exceptionFrom } from "../../../engine/embedded-clickhouse/server/exception.ts";
import { ConcurrencyLimit } from "../../../engine/embedded-clickhouse/server/queries.ts";

describe("what the engine says becomes what a server says", () => {
  test.each([
    [
      "Code: 60. DB::Exception: Unknown table 'a (B)'. (UNKNOWN_TABLE)",
      404,
      "Code: 60. DB::Exception: Unknown table 'a (B)'. (UNKNOWN_TABLE) (version 1.2)\n",
    ],
    [
      "Code: 27. DB::Exception: Code: 27. DB::Exception: Cannot parse input: expected '\"' before: 'zz': (at row 2)\n: (in file/uri /proc/self/fd/51): While executing File: data for INSERT was parsed from file. (CANNOT_PARSE_INPUT_ASSERTION_FAILED) (version 26.7.2.1). (CANNOT_PARSE_INPUT_ASSERTION_FAILED)",
      400,
      "Code: 27. DB::Exception: Cannot parse input: expected '\"' before: 'zz': (at row 2)\n: While executing File. (CANNOT_PARSE_INPUT_ASSERTION_FAILED) (version 1.2)\n",
    ],
    [
      "Code: 395. DB::Exception: mine: while executing x (y). (NAME_OF_IT)",
      500,
      "Code: 395. DB::Exception: mine: while executing x (y). (NAME_OF_IT) (version 1.2)\n",
    ],
    ["Something else", 500, "Code: 1001. DB::Exception: Something else. (STD_EXCEPTION) (version 1.2)\n"],
  ])("%j", (said, status, body) => {
    const exception = exceptionFrom(new Error(said));
    expect([exception.status, exception.body("1.2")]).toEqual([status, body]);
  });
});

describe("the limit", () => {
  test("lets so many in, the others in order, and no more than its queue holds", async () => {
    const limit = new ConcurrencyLimit(2, 2);
    const seen: string[] = [];
    const leave: (() => void)[] = [];
    const enter = (name: string): Promise<void> =>
      limit.run(() => {
        seen.push(name);
        return new Promise((resolve) => void leave.push(resolve));
      });
    const [a, b, c, d] = ["a", "b", "c", "d"].map(enter);
    await expect(enter("e")).rejects.toMatchObject({ code: 202 });
    expect(seen).toEqual(["a", "b"]);
    leave[1]?.();
    await b;
    expect(seen).toEqual(["a", "b", "c"]);
    leave[0]?.();
    await a;
    expect(seen).toEqual(["a", "b", "c", "d"]);
    leave[2]?.();
    leave[3]?.();
    await Promise.all([c, d]);
  });

  test("lets the next one in after a failure", async () => {
    const limit = new ConcurrencyLimit(1, 1);
    await expect(limit.run(() => Promise.reject(new Error("x")))).rejects.toThrow("x");
    expect(await limit.run(() => Promise.resolve(1))).toBe(1);
  });
});
