import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Requests } from "../../../reconciler/status/reconcile-request.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) }));
afterEach(() => void vi.useRealTimers());

test("a request is answered by a turn that began after it", () => {
  const requests = new Requests();
  const first = requests.ask();
  const begun = requests.newest;
  const second = requests.ask();
  requests.handle(begun, { newest: begun });
  expect([first, second].map((token) => requests.isHandled(token))).toEqual([true, false]);
});

test("a request to an earlier process is answered by the first turn of this one", () => {
  const token = new Requests().ask();
  vi.advanceTimersByTime(5_000);
  const requests = new Requests();
  expect(requests.isHandled(token)).toBe(false);
  requests.handle(requests.newest);
  expect([requests.isHandled(token), requests.isHandled(token, "turn")]).toEqual([false, true]);
  requests.handle(undefined, { newest: undefined });
  expect(requests.isHandled(token)).toBe(true);
  expect(requests.handled).toBeUndefined();
});

test("a turn that has not read the source answers a request for a turn alone", () => {
  const requests = new Requests();
  const token = requests.ask();
  requests.handle(token);
  expect([requests.isHandled(token), requests.isHandled(token, "turn")]).toEqual([false, true]);
  requests.handle(token, { newest: token });
  expect(requests.isHandled(token)).toBe(true);
});
