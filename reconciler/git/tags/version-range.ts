/** A version as tags name it: `v1.4`, for instance, is 1.4.0. What comes after a `+` does not count. */
interface Version {
  numbers: readonly [number, number, number];
  /** The parts of a pre-release, such as `rc` and `1`; none for a release. */
  before: readonly string[];
}

/** A condition on a version. */
type Comparator = (version: Version) => boolean;

/** Versions of which all comparators hold. Pre-releases are among them only where one of them names one. */
interface Alternative {
  comparators: Comparator[];
  takesPreReleases: boolean;
}

const versionText = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const partialText =
  /^v?(\d{1,15}|[xX*])(?:\.(\d{1,15}|[xX*]))?(?:\.(\d{1,15}|[xX*]))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/**
 * A range of versions, such as `1.*`, `~1.4`, `^1.2`, `>=1.2 <2.0`, `1.2 - 1.4` or `1.* || >=3`: the syntax of SemVer
 * ranges that npm, Helm and Flux read.
 */
export class VersionRange {
  readonly #alternatives: readonly Alternative[];

  private constructor(alternatives: readonly Alternative[]) {
    this.#alternatives = alternatives;
  }

  /** Undefined where the text is no range. */
  static read(text: string): VersionRange | undefined {
    const alternatives = text.split("||").map((part) => alternativeOf(part.trim()));
    return alternatives.every((one) => one !== undefined) ? new VersionRange(alternatives) : undefined;
  }

  /** The name of the newest version in the range; of those that are equal, such as `v1` and `v1.0.0`, the longest name. */
  newestOf(names: readonly string[]): string | undefined {
    let newest: { name: string; version: Version } | undefined;
    for (const name of names) {
      const version = readVersion(name);
      if (version === undefined || !this.#contains(version)) continue;
      const order = newest === undefined ? 1 : compare(version, newest.version) || compareNames(name, newest.name);
      if (order > 0) newest = { name, version };
    }
    return newest?.name;
  }

  #contains(version: Version): boolean {
    return this.#alternatives.some(
      ({ comparators, takesPreReleases }) =>
        (takesPreReleases || version.before.length === 0) && comparators.every((holds) => holds(version)),
    );
  }
}

function readVersion(text: string): Version | undefined {
  const found = versionText.exec(text);
  if (found === null) return undefined;
  const [, major, minor = 0, patch = 0, before] = found;
  return { numbers: [Number(major), Number(minor), Number(patch)], before: before?.split(".") ?? [] };
}

function alternativeOf(text: string): Alternative | undefined {
  const span = /^(\S+) +- +(\S+)$/.exec(text);
  const words = span === null ? wordsOf(text) : [`>=${span[1]}`, `<=${span[2]}`];
  const read = words.map(comparatorOf);
  if (read.length === 0 || !read.every((one) => one !== undefined)) return undefined;
  return {
    comparators: read.map(({ holds }) => holds),
    takesPreReleases: read.some(({ namesPreRelease }) => namesPreRelease),
  };
}

/** Comparators are divided by spaces or commas; one may be apart from its version. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([<>=!~^]) +/g, "$1")
    .split(/[ ,]+/)
    .filter((word) => word !== "");
}

interface ReadComparator {
  holds: Comparator;
  namesPreRelease: boolean;
}

function comparatorOf(word: string): ReadComparator | undefined {
  const [, operator = "", text = ""] = /^(!=|>=|<=|~>|[<>=~^])?(.*)$/s.exec(word) ?? [];
  const found = partialText.exec(text);
  if (found === null) return undefined;
  const parts = found.slice(1, 4).flatMap((part) => (part === undefined || /^[xX*]$/.test(part) ? [] : [Number(part)]));
  // `1.*.3`: what is after a wildcard would count for nothing.
  const given = found.slice(1, 4).filter((part) => part !== undefined);
  if (given.slice(parts.length).some((part) => !/^[xX*]$/.test(part))) return undefined;
  const before = found[4]?.split(".") ?? [];
  if (before.length > 0 && parts.length < 3) return undefined;
  return { holds: conditionOf(operator, parts, before), namesPreRelease: before.length > 0 };
}

/** The condition of an operator and a version, of which the last numbers may be left out. */
function conditionOf(operator: string, parts: readonly number[], before: readonly string[]): Comparator {
  const [major = 0, minor = 0, patch = 0] = parts;
  const low: Version = { numbers: [major, minor, patch], before };
  const from: Comparator = (version) => compare(version, low) >= 0;
  /** Below the version in which the number at a place is one greater, its pre-releases left out too. */
  const below = (place: number): Comparator => {
    if (place < 0) return () => true;
    const numbers = [0, 1, 2].map((at) => (at > place ? 0 : (parts[at] ?? 0) + (at === place ? 1 : 0)));
    const end: Version = { numbers: numbers as [number, number, number], before: ["0"] };
    return (version) => compare(version, end) < 0;
  };
  const last = parts.length - 1;
  const isExact = parts.length === 3;
  const within: Comparator = isExact
    ? (version) => compare(version, low) === 0
    : (version) => from(version) && below(last)(version);
  if (operator === "" || operator === "=") return within;
  if (operator === "!=") return (version) => !within(version);
  if (operator === ">=") return from;
  if (operator === "<") return (version) => compare(version, low) < 0;
  if (operator === ">") return isExact ? (version) => compare(version, low) > 0 : (version) => !below(last)(version);
  if (operator === "<=") return isExact ? (version) => compare(version, low) <= 0 : below(last);
  const kept = operator === "^" ? leadingOf(parts) : Math.min(last, 1);
  return (version) => from(version) && below(kept)(version);
}

/** The place of the number that `^` keeps: the first that is not 0, else the last that is given. */
function leadingOf(parts: readonly number[]): number {
  const first = parts.findIndex((part) => part > 0);
  return first === -1 ? parts.length - 1 : first;
}

/** Below 0 where the first is older. A pre-release is older than its release. */
function compare(one: Version, other: Version): number {
  for (const [at, number] of one.numbers.entries()) {
    const difference = number - (other.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (one.before.length === 0 || other.before.length === 0) return other.before.length - one.before.length;
  for (let at = 0; at < Math.max(one.before.length, other.before.length); at += 1) {
    const order = compareParts(one.before[at], other.before[at]);
    if (order !== 0) return order;
  }
  return 0;
}

/** Of pre-releases: fewer parts are older, then numbers by value, then texts. */
function compareParts(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return Number(one) - Number(other);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function compareNames(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : 1;
}
