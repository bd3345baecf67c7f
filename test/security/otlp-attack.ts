import { gzipSync } from "node:zlib";
import { frameOf, type RawGrpc } from "../fuzz/otlp-raw-grpc.ts";
import { type RawAnswer, sendHttp } from "../fuzz/otlp-raw-http.ts";
import { called, naming, over, types } from "../fuzz/otlp-request.ts";
import { type CostlyBody, costlyBodies } from "./otlp-amplification.ts";

/** Where an attacker sends to. */
export interface Target {
  http: string;
  grpc: RawGrpc;
}

export interface Answered {
  title: string;
  status: RawAnswer["status"];
}

/** A body in one of the ways to send it. */
interface Sending {
  title: string;
  send: (target: Target) => Promise<RawAnswer>;
}

/** An attack that is ready: all its bodies are made and compressed. */
export interface Attack {
  inRow: readonly Sending[];
  atOnce: readonly Sending[];
}

/**
 * The worst bodies, each of `size` bytes before gzip: over HTTP in gzip one after the other; and all at once, in protobuf
 * over gRPC and in JSON over HTTP.
 */
export function preparedAttack(size: number): Attack {
  const bodies = costlyBodies(size);
  return {
    inRow: bodies.map((body) => overHttp(body, true)),
    atOnce: bodies.map((body) => (body.encoding === "json" ? overHttp(body, false) : overGrpc(body))),
  };
}

/** Sends all of it `rounds` times; resolves with the answers. */
export async function attack(target: Target, { inRow, atOnce }: Attack, rounds: number): Promise<Answered[]> {
  const answers: Answered[] = [];
  const sent = async ({ title, send }: Sending): Promise<void> => {
    answers.push({ title, status: (await send(target)).status });
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const sending of inRow) await sent(sending);
    await Promise.all(atOnce.map(sent));
  }
  return answers;
}

function overGrpc({ title, signal, bytes }: CostlyBody): Sending {
  const frames = frameOf(gzipSync(bytes), { isPacked: true });
  const call = called(signal, { "grpc-encoding": "gzip" }, frames);
  return { title: `gRPC: ${title}`, send: ({ grpc }) => grpc.send(call) };
}

function overHttp({ title, signal, encoding, bytes }: CostlyBody, isPacked: boolean): Sending {
  const packing = isPacked ? { "content-encoding": "gzip" } : {};
  const headers = { ...naming(signal), "content-type": types[encoding], ...packing };
  const request = over(signal, headers, isPacked ? gzipSync(bytes) : bytes);
  return { title: `HTTP, ${encoding}: ${title}`, send: ({ http }) => sendHttp(http, request) };
}
