/**
 * What the parts of the killer share: the orders, and how they are carried out. They are in a file, so that they can be
 * given to a process that runs; another one beside it says that they were carried out.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { PositionRange } from "../../engine/core/positions.ts";
import type { ServerStep } from "./external/server-steps.ts";
import type { KafkaStep } from "./kafka-steps.ts";
import type { ApplyStep } from "./reconcile-steps.ts";
import type { Step } from "./steps.ts";

/** When to kill: at the n-th time that a pipeline comes to a step, counted from when the orders are given. */
export interface Orders {
  step: Step | KafkaStep | ApplyStep | ServerStep;
  pipeline_id: string;
  nth: number;
}

type Method = (...values: unknown[]) => unknown;

const ordersFile = process.env["KILL_ORDERS"] ?? "";
const heldFile = `${ordersFile}.held`;
let times = 0;

/** Whether a step has come for the time that is ordered. Each thread counts for itself: a step comes in one of them. */
export function isTime(step: Orders["step"], isOf: (pipeline_id: string) => boolean): boolean {
  const orders = existsSync(`${ordersFile}.done`) ? undefined : readOrders();
  if (orders?.step !== step || !isOf(orders.pipeline_id)) return false;
  times += 1;
  return times === orders.nth;
}

/** Ends the process. `ranges`: what the batch holds that came to the step, where that is known. */
export function kill(ranges: readonly PositionRange[] = []): void {
  writeFileSync(`${ordersFile}.done`, JSON.stringify(ranges));
  process.kill(process.pid, "SIGKILL");
}

/** Notes, for all threads, that an answer is held back: the kill comes with what follows. */
export function hold(): void {
  writeFileSync(heldFile, "");
}

/** Whether an answer is held back for this step. */
export function isHeld(step: KafkaStep): boolean {
  return existsSync(heldFile) && readOrders()?.step === step;
}

/** Whether a request, by its path, is an insert of a pipeline into its table. */
export function insertsInto(path = "/"): (pipeline_id: string) => boolean {
  const statement = new URL(path, "http://clickhouse").searchParams.get("query") ?? "";
  return (wanted) => statement.startsWith("INSERT") && statement.includes(`\`${wanted.replaceAll("-", "_")}\``);
}

function readOrders(): Orders | undefined {
  try {
    return JSON.parse(readFileSync(ordersFile, "utf8")) as Orders;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Puts `instead` in the place of a method; it is given the method as it was, and calls it or not. */
export function replace<Self>(
  prototype: Self,
  name: keyof Self & string,
  instead: (self: Self, method: Method, values: unknown[]) => unknown,
): void {
  const methods = prototype as Record<string, Method>;
  const method = methods[name]!;
  methods[name] = function (this: Self, ...values: unknown[]) {
    return instead(this, method.bind(this), values);
  };
}
