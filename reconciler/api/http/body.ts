import type { IncomingMessage } from "node:http";
import { ApiError } from "./api-error.ts";

/** The largest body, in bytes (docs/api.md, Calls that compute), and how long it may take to arrive, in milliseconds. */
const largest = 1024 * 1024;
const slowest = 5000;

/** The bytes of a JSON body. Throws ApiError 415 for another content type, 413 for one too large, 408 for one too slow. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  refuseOtherTypes(request);
  if (Number(request.headers["content-length"] ?? 0) > largest) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      reject(new ApiError(408, "request_timeout", `the body did not arrive within ${slowest / 1000} seconds`));
    }, slowest);
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > largest) reject(tooLarge());
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks, size)));
    request.once("error", () => reject(brokenOff()));
    request.once("close", () => {
      clearTimeout(timer);
      reject(brokenOff());
    });
  });
}

function refuseOtherTypes({ headers }: IncomingMessage): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ApiError(415, "unsupported_media_type", "expected Content-Type application/json");
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new ApiError(415, "unsupported_media_type", "expected a body without Content-Encoding");
  }
}

function tooLarge(): ApiError {
  return new ApiError(413, "payload_too_large", `expected a body of at most ${largest} bytes`);
}

function brokenOff(): ApiError {
  return new ApiError(400, "bad_request", "the body ended early");
}
