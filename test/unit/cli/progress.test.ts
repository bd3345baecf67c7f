import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress } from "../../../reconciler/cli/invocation/progress.ts";
import { streamTerminal } from "../../../reconciler/cli/invocation/terminal.ts";

const clear = "\r\u001b[K";

function said(stream: PassThrough): string {
  return String(stream.read() ?? "");
}

/** A terminal with what was written to standard error and to standard output. */
function scene({ isTTY = true } = {}) {
  const [out, err] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY, columns: 40 })];
  return { terminal: streamTerminal(out, err), out: () => said(out), err: () => said(err) };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a command that ends within a second shows nothing", () => {
  const { terminal, err } = scene();
  const progress = new Progress(terminal, "sluice plan");
  progress.step("reading");
  vi.advanceTimersByTime(900);
  progress.end();
  vi.advanceTimersByTime(5_000);
  expect(err()).toBe("");
});

test("a longer one says on standard error what it does, and removes that at its end", () => {
  const { terminal, out, err } = scene();
  const progress = new Progress(terminal, "sluice plan");
  vi.advanceTimersByTime(1_200);
  expect(err()).toBe(`${clear}sluice plan: 1 s`);
  progress.step("checking 400 files");
  vi.advanceTimersByTime(1_000);
  expect(err().split(clear).at(-1)).toBe("sluice plan: checking 400 files, 2 s");
  terminal.out("the plan");
  expect([err(), out()]).toEqual([clear, "the plan\n"]);
  progress.end();
  vi.advanceTimersByTime(5_000);
  expect(err()).toBe("");
});

test("steps are shown where nothing else gets a turn", () => {
  const { terminal, err } = scene();
  const progress = new Progress(terminal, "sluice validate");
  const began = performance.now();
  vi.spyOn(performance, "now").mockReturnValue(began + 3_000);
  progress.step("7 of 9 files");
  vi.restoreAllMocks();
  progress.end();
  expect(err()).toBe(`${clear}sluice validate: 7 of 9 files, 3 s${clear}`);
});

test("a line is no longer than the terminal, and holds nothing that it would obey", () => {
  const { terminal, err } = scene();
  terminal.progress?.(`a\u001b[2J${"x".repeat(100)}`);
  expect(err()).toBe(`${clear}a\\u001b[2J${"x".repeat(29)}`);
});

test("nothing is shown where no person sees standard error", () => {
  const { terminal, err } = scene({ isTTY: false });
  const progress = new Progress(terminal, "sluice plan");
  vi.advanceTimersByTime(5_000);
  progress.step("reading");
  progress.end();
  expect([terminal.progress, err()]).toEqual([undefined, ""]);
});
