import { compare, parse, Range, type SemVer } from "semver";

/** A version as tags name it: numbers at its end may be left out. What comes after a `+` does not count. */
const versionText = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** `1.*.3`: what is after a wildcard would count for nothing. */
const afterWildcard = /[xX*]\.\d/;
const preRelease = /\d-[0-9A-Za-z]/;
/** As in `2026.09.01`, which strictly is no version. */
const leadingZeros = /(?<![0-9A-Za-z-])0+(?=\d)/g;
const excluded = /!= *(\S+)/g;

/** Versions that are in one range, and in none of the others. */
interface Alternative {
  range: Range;
  except: readonly Range[];
}

/**
 * A range of versions, such as `1.*`, `~1.4`, `^1.2`, `>=1.2 <2.0`, `1.2 - 1.4` or `1.* || >=3`: the syntax of SemVer
 * ranges that npm reads, with the commas and the `!=` of Helm and Flux. Pre-releases are in it only where it names one.
 */
export class VersionRange {
  readonly #alternatives: readonly Alternative[];

  private constructor(alternatives: readonly Alternative[]) {
    this.#alternatives = alternatives;
  }

  /** Undefined where the text is no range. */
  static read(text: string): VersionRange | undefined {
    const alternatives = text
      .replaceAll(",", " ")
      .replaceAll(leadingZeros, "")
      .split("||")
      .map((part) => alternativeOf(part.trim()));
    return alternatives.every((one) => one !== undefined) ? new VersionRange(alternatives) : undefined;
  }

  /** The name of the newest version in the range; of those that are equal, such as `v1` and `v1.0.0`, the longest name. */
  newestOf(names: readonly string[]): string | undefined {
    let newest: { name: string; version: SemVer } | undefined;
    for (const name of names) {
      const version = readVersion(name);
      if (version === undefined || !this.#contains(version)) continue;
      const order = newest === undefined ? 1 : compare(version, newest.version) || compareNames(name, newest.name);
      if (order > 0) newest = { name, version };
    }
    return newest?.name;
  }

  #contains(version: SemVer): boolean {
    return this.#alternatives.some(
      ({ range, except }) => range.test(version) && !except.some((one) => one.test(version)),
    );
  }
}

function alternativeOf(text: string): Alternative | undefined {
  if (text === "" || afterWildcard.test(text)) return undefined;
  const includePrerelease = preRelease.test(text);
  try {
    const range = new Range(text.replaceAll(excluded, ""), { includePrerelease });
    const except = [...text.matchAll(excluded)].map(([, one = ""]) => new Range(one, { includePrerelease: true }));
    return { range, except };
  } catch {
    return undefined;
  }
}

function readVersion(text: string): SemVer | undefined {
  const found = versionText.exec(text);
  if (found === null) return undefined;
  const [, major, minor = 0, patch = 0, before = ""] = found;
  return parse(`${major}.${minor}.${patch}${before}`.replaceAll(leadingZeros, "")) ?? undefined;
}

function compareNames(one: string, other: string): number {
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : 1;
}
