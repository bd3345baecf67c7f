import type Broker from "kafkajs/src/broker/index.js";
import type Encoder from "kafkajs/src/protocol/encoder.js";
import type { RequestName } from "kafkajs/src/protocol/requests/index.js";
import { grouped } from "../protocol/grouped.ts";
import { kafkajs } from "./kafkajs.ts";

/** A request that kafkajs does not know, or not in this version. */
export interface OwnRequest {
  name: string;
  key: number;
  version: number;
}

/** How long an answer may take where no other limit is given, in milliseconds. */
export const longestAnswer = 30_000;

/** How long an answer may take, in milliseconds. */
interface Limit {
  requestTimeout?: number;
}

/** What kafkajs makes of the fields of a request. */
interface ProtocolRequest {
  request: { apiVersion: number; apiKey: number; apiName: string };
  response: { decode(bytes: Buffer): Promise<unknown> };
}

/** `limit`: of requests that wait at the broker, that time more. */
interface TimedRequest extends ProtocolRequest {
  limit: Limit;
}

/** A request as kafkajs writes it, in the newest version that it and the broker know. */
export function requestOf(broker: Broker, name: RequestName, fields: object): TimedRequest {
  const { apiKeys, requests } = kafkajs();
  type Made = ProtocolRequest & { requestTimeout?: number | null };
  const make = broker.lookupRequest(apiKeys[name], requests[name]) as (fields: object) => Made;
  const { request, response, requestTimeout } = make(fields);
  return { request, response, limit: { requestTimeout: Math.max(longestAnswer, requestTimeout ?? 0) } };
}

/**
 * Sends what kafkajs writes; resolves with the answer as it reads it, with the error codes in it. The connection of the
 * broker answers one request after another. Throws what kafkajs throws.
 */
export async function ask<Answer>(
  broker: Broker,
  name: RequestName,
  fields: object,
  limit: Limit = {},
): Promise<Answer> {
  const { request, response, limit: own } = requestOf(broker, name, fields);
  return (await sendRequest(broker, request, (bytes) => response.decode(bytes), { ...own, ...limit })) as Answer;
}

/** Sends a request whose body is written here. Throws what kafkajs and `decode` throw. */
export function askOwn<Answer>(
  broker: Broker,
  { name, key, version }: OwnRequest,
  body: Buffer,
  decode: (bytes: Buffer) => Answer,
  limit: Limit = {},
): Promise<Answer> {
  const encode = (): Promise<Encoder> => {
    const encoder = new (kafkajs().Encoder)();
    encoder.writeBufferInternal(body);
    return Promise.resolve(encoder);
  };
  return sendRequest(broker, { apiKey: key, apiVersion: version, apiName: name, encode }, decode, limit);
}

/** Sends a request over the broker's authenticated connection, in order. */
export async function sendRequest<Answer>(
  { connectionPool }: Broker,
  request: object,
  decode: (bytes: Buffer) => Answer | Promise<Answer>,
  limit: Limit = {},
): Promise<Answer> {
  const response = {
    decode: async (bytes: Buffer) => decode(bytes),
    // kafkajs would throw here at the first error code, and the rest of the answer would be lost.
    parse: (data: unknown) => Promise.resolve(data),
  };
  return (await connectionPool.send({ request, response, ...limit })) as Answer;
}

/** Whether a broker takes a request in this version. Throws while it is asked for its versions. */
export function speaks({ versions }: Broker, { key, version }: Pick<OwnRequest, "key" | "version">): boolean {
  if (versions === null) throw new Error("expected a connection to the broker, found one that is being made");
  const offered = versions[key];
  return offered !== undefined && offered.minVersion <= version && version <= offered.maxVersion;
}

/** The kafkajs error for the code that a broker answered. */
export function brokerError(code: number): Error {
  return kafkajs().createErrorFromCode(code);
}

/** Partitions by their topics, as requests list them: in their order, those of a topic together. */
export function byTopic<Place extends { topic: string }, Item>(
  places: readonly Place[],
  item: (place: Place) => Item,
): { topic: string; partitions: Item[] }[] {
  const topics = grouped(places, ({ topic }) => topic);
  return Array.from(topics, ([topic, own]) => ({ topic, partitions: own.map(item) }));
}
