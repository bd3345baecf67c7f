/**
 * A copy of chDB's library in which replicas go to work. As it comes, chDB speaks to a ZooKeeper and creates Replicated tables, but they stay
 * read-only: a replica tells the others at which port they may fetch its parts, and only the program of the server sets that port. The copy leaves the
 * two checks out that end with this error, and a replica then tells port 0. So parts are not fetched from one replica to another; tokens, block numbers,
 * quorums and sessions are those of ClickHouse and ZooKeeper.
 */

const errorText = Buffer.from("Parameter 'interserver_http(s)_port' required");
const [elfMagic, elfForX64] = [0x7f454c46, 62];
const [loadedSegment, executableFlag] = [1, 1];
/** `lea REGISTER, [rip + DISTANCE]` has so many bytes, of which the last four are the distance. */
const leaLength = 7;
/** The checks are at most so many bytes before the code that throws, and that one begins as many before it names its text. */
const [checkDistance, throwDistance] = [0x100, 0x30];
/** `je` to an address nearby, `mov edi, SIZE` (room for the exception is made first), and what does nothing. */
const [jumpIfEqual, moveIntoEdi, nothing] = [0x74, 0xbf, 0x90];

interface Segment {
  isCode: boolean;
  offset: number;
  address: number;
  size: number;
}

/**
 * Takes the checks out of the bytes of a library.
 *
 * @throws what it expected and did not find; then nothing is changed.
 */
export function letReplicasRun(library: Buffer): void {
  const segments = segmentsOf(library);
  const use = onlyUseOf(library, segments, addressOfText(library, segments));
  const checks = checksBefore(library, use);
  for (const at of checks) library.fill(nothing, at, at + 2);
}

function segmentsOf(library: Buffer): Segment[] {
  if (library.readUInt32BE(0) !== elfMagic || library.readUInt16LE(18) !== elfForX64)
    throw new Error("expected chDB's library to be an ELF file for x64, found another one");
  const [table, length, count] = [
    Number(library.readBigUInt64LE(32)),
    library.readUInt16LE(54),
    library.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, index) => table + index * length)
    .filter((at) => library.readUInt32LE(at) === loadedSegment)
    .map((at) => ({
      isCode: (library.readUInt32LE(at + 4) & executableFlag) !== 0,
      offset: Number(library.readBigUInt64LE(at + 8)),
      address: Number(library.readBigUInt64LE(at + 16)),
      size: Number(library.readBigUInt64LE(at + 32)),
    }));
}

function addressOfText(library: Buffer, segments: readonly Segment[]): number {
  const at = library.indexOf(errorText);
  const segment = segments.find(({ offset, size }) => at >= offset && at < offset + size);
  if (at < 0 || segment === undefined || library.includes(errorText, at + 1))
    throw new Error("expected chDB's library to hold the text of the error of a replica once");
  return segment.address + at - segment.offset;
}

/** Where the code takes the address of a text. */
function onlyUseOf(library: Buffer, segments: readonly Segment[], text: number): number {
  const uses = segments.filter(({ isCode }) => isCode).flatMap((segment) => usesIn(library, segment, text));
  const [use] = uses;
  if (use === undefined || uses.length > 1)
    throw new Error(`expected chDB's library to use the text of the error of a replica once, found ${uses.length}`);
  return use;
}

function usesIn(library: Buffer, { offset, address, size }: Segment, text: number): number[] {
  const uses: number[] = [];
  for (let at = offset; at <= offset + size - leaLength; at++) {
    const next = address + at - offset + leaLength;
    if (isLea(library, at) && next + library.readInt32LE(at + 3) === text) uses.push(at);
  }
  return uses;
}

function isLea(library: Buffer, at: number): boolean {
  if (library[at + 1] !== 0x8d) return false;
  return (library[at] === 0x48 || library[at] === 0x4c) && (library[at + 2]! & 0xc7) === 0x05;
}

/** The two jumps to the code that throws. */
function checksBefore(library: Buffer, use: number): number[] {
  const target = (at: number): number => at + 2 + library.readInt8(at + 1);
  const throwsAt = (at: number): boolean => at > use - throwDistance && at < use && library[at] === moveIntoEdi;
  const checks = Array.from({ length: checkDistance }, (_, index) => use - checkDistance + index).filter(
    (at) => library[at] === jumpIfEqual && throwsAt(target(at)),
  );
  const isPair = checks.length === 2 && target(checks[0]!) === target(checks[1]!);
  if (!isPair) throw new Error(`expected two checks before the error of a replica, found ${checks.length}`);
  return checks;
}
