import { isUtf8 } from "node:buffer";

const [byteOrderMark, registryMark] = [Buffer.from([0xef, 0xbb, 0xbf]), 0x00];

/** A magic byte and the id of a schema: what serializers of a schema registry put before a value. */
const registryBytes = 5;

/** Bytes without the mark that some programs put before text. It says nothing: JSON is UTF-8. */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes;
}

/** What bytes are that are no JSON object: completes "expected a JSON object". Undefined where they are one. */
export function whyNoObject(given: Buffer): string | undefined {
  const bytes = withoutMark(given);
  if (bytes.length === 0) return ", found nothing";
  if (bytes[0] === registryMark && bytes.length > registryBytes) {
    const id = bytes.readUInt32BE(1);
    return `, found the magic byte of a schema registry before a value of schema ${id}: it is Avro, Protobuf or JSON with a schema, which needs another format than json`;
  }
  if (!isUtf8(bytes)) return " in UTF-8, found bytes that are not UTF-8";
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    return `, found text that is not JSON: ${(error as Error).message.slice(0, 120)}`;
  }
  if (value === null) return ", found null";
  if (Array.isArray(value)) return ", found an array: send its items one by one";
  return typeof value === "object" ? undefined : `, found a ${typeof value}`;
}
