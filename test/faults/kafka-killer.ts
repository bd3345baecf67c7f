/** The part of the killer for what only a process does that reads from Kafka. */
import { ClientRequest, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { rangesOf, type BatchRecord } from "../../engine/core/journal.ts";
import { consumerGroup } from "../../engine/core/names.ts";
import { hold, isHeld, isTime, kill, replace } from "./kill-orders.ts";

interface ProtocolRequest {
  request: { apiKey: number; encode(): Promise<{ buffer: Buffer }> };
}

const offsetCommit = 8;
const never = new Promise<never>(() => undefined);

/** The answers to offsets that were committed: they are here, and whoever waits for them has not heard them. */
export function watchOffsetCommits(): void {
  const load = createRequire(process.argv[1]!);
  const pool = load("kafkajs/src/network/connectionPool.js") as { prototype: { send: unknown } };
  replace(pool.prototype, "send", (_self, send, values) => {
    const [{ request }] = values as [ProtocolRequest];
    const sent = send(...values) as Promise<unknown>;
    return request.apiKey === offsetCommit ? answered(sent, request) : sent;
  });
}

async function answered(sent: Promise<unknown>, request: ProtocolRequest["request"]): Promise<unknown> {
  const answer = await sent;
  const { buffer } = await request.encode();
  const isOf = (wanted: string): boolean => buffer.includes(consumerGroup(wanted));
  if (isTime("offset commit unanswered", isOf)) kill();
  if (!isTime("later batch committed", isOf)) return answer;
  hold();
  return never;
}

/** Holds an insert's answer back, so that those behind it overtake it. */
export function watchAnswers(isInsertOf: (request: ClientRequest) => (pipeline_id: string) => boolean): void {
  replace(ClientRequest.prototype, "emit", (request, emit, values) => {
    const [event, response] = values as [string, IncomingMessage];
    const isAnswer = event === "response" && response.statusCode === 200;
    if (!isAnswer || !isTime("later batch written", isInsertOf(request))) return emit(...values);
    hold();
    return true;
  });
}

/** A note of a batch is durable, and its thread has not heard of it. */
export function noted(type: "prepare" | "amend" | "commit", record: BatchRecord): void {
  const ranges = rangesOf(record);
  if (type === "commit" && isHeld("later batch committed")) kill(ranges);
  if (type === "amend" && record.state.kind === "written" && isHeld("later batch written")) kill(ranges);
}
