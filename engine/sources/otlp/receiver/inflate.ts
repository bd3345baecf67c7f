import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { Refused } from "./outcome.ts";

const inflated = promisify(gunzip);

/** What a gzip body holds. Throws Refused where that is more than `most` bytes, of which no more are ever made. */
export async function inflate(body: Buffer, most: number): Promise<Buffer> {
  try {
    return await inflated(body, { maxOutputLength: most });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new Refused("too_large", `expected a body of at most ${most} bytes after decompression`);
    }
    throw new Refused("malformed", "expected a body in gzip, as its Content-Encoding says");
  }
}
