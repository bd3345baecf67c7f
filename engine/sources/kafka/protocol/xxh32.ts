const [prime1, prime2, prime3, prime4, prime5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;

/** The hash xxHash32, with seed 0, of at most 15 bytes. */
export function xxh32(bytes: Buffer): number {
  let hash = (prime5 + bytes.length) | 0;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotated((hash + Math.imul(bytes.readUInt32LE(at), prime3)) | 0, 17), prime4);
  }
  for (; at < bytes.length; at += 1) {
    hash = Math.imul(rotated((hash + Math.imul(bytes[at]!, prime5)) | 0, 11), prime1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2);
  hash = Math.imul(hash ^ (hash >>> 13), prime3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}
