import messagesFile from "../../proto/messages.json" with { type: "json" };
import type { Signal } from "../../../../core/push.ts";

/** A field of a message, as its .proto file declares it. */
export interface MessageField {
  readonly id: number;
  readonly repeated?: boolean;
  /** Exactly one of these says what it holds: a scalar type, an enum or a message, by its name. */
  readonly scalar?: string;
  readonly enum?: string;
  readonly message?: string;
}

/** The fields of a message by their names in JSON: in lower camel case, and as the .proto file spells them. */
export type MessageType = ReadonlyMap<string, MessageField>;

const messages: Readonly<Record<string, Readonly<Record<string, MessageField>>>> = messagesFile.messages;

export const messageTypes: ReadonlyMap<string, MessageType> = new Map(
  Object.entries(messages).map(([name, fields]) => [
    name,
    new Map(
      Object.entries(fields).flatMap(([key, field]) => [[key, field] as const, [snakeCase(key), field] as const]),
    ),
  ]),
);

/** The numbers of each enum by their names. */
export const enumNumbers: Readonly<Record<string, Readonly<Record<string, number>>>> = messagesFile.enums;

export const requestTypes: Readonly<Record<Signal, string>> = {
  logs: "ExportLogsServiceRequest",
  traces: "ExportTraceServiceRequest",
  metrics: "ExportMetricsServiceRequest",
};

function snakeCase(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
