import type { ColumnType } from "../columns/column-type.ts";
import type { Converter } from "./converter.ts";
import { parseSeconds } from "./times.ts";
import { type Read, shortened } from "./values.ts";

/** One of the types of a Variant, without LowCardinality. */
export interface Alternative {
  type: ColumnType;
  converter: Converter;
}

type Kind = ColumnType["kind"];

const wholes: readonly Kind[] = ["Int", "UInt"];
const floats: readonly Kind[] = ["Float", "BFloat16"];
const dates: readonly Kind[] = ["Date", "Date32"];
const instants: readonly Kind[] = ["DateTime", "DateTime64"];
const clocks: readonly Kind[] = ["Time", "Time64"];
const numbers: readonly Kind[] = [...wholes, "Decimal", ...floats];
const texts: readonly Kind[] = ["FixedString", "String"];

/**
 * The kinds of types that ClickHouse finds for a JSON value, in its order. Beside a String it finds neither a BFloat16 nor
 * a time of day, beside a Decimal no BFloat16, and for a text no Bool, no Decimal and no BFloat16 for certain.
 */
function kindsOf(value: unknown, has: ReadonlySet<Kind>): readonly Kind[] {
  const isBesideText = has.has("String");
  const beside = isBesideText ? [] : clocks;
  const short: readonly Kind[] = isBesideText || has.has("Decimal") ? [] : ["BFloat16"];
  switch (typeof value) {
    case "boolean":
      return ["Bool", ...(isBesideText || has.has("Enum") ? [] : wholes), "String"];
    case "number":
    case "bigint": {
      const isWhole = typeof value === "bigint" || Number.isInteger(value);
      return ["Enum", ...wholes, "Decimal", "Float", ...(isWhole ? [...instants, ...beside] : []), ...short, ...texts];
    }
    case "string": {
      const clock = value.includes(":") ? beside : [];
      return ["Enum", "UUID", "IPv4", "IPv6", ...dates, ...instantsOf(value), ...wholes, "Float", ...clock, ...texts];
    }
    default:
      return ["Array", "Tuple", "Map", "JSON", "String"];
  }
}

/** The kinds that may be the instant of a value: ClickHouse takes a text of seconds for a number. */
function instantsOf(value: unknown): readonly Kind[] {
  return typeof value === "string" && parseSeconds(value) !== undefined ? [] : instants;
}

/**
 * Writes a value so that ClickHouse, which tries the types of a Variant in an order of its own, stores it as what it is:
 * of the type that it would find for the same JSON, where that has the same value. Any other value is refused: ClickHouse
 * would make 7 of the text "007", the first of May of "May", and an infinity of a number that a Float32 cannot hold.
 */
export function variantConverter(read: Read, name: string, alternatives: readonly Alternative[]): Converter {
  const variant = new VariantWriter(alternatives);
  const write = (value: unknown): string | undefined => {
    const typed = read(value);
    // A float that JSON cannot write keeps its own name.
    return typed === undefined
      ? undefined
      : variant.write(typeof value === "string" && typed !== value ? value : typed);
  };
  return {
    convert: (value) => (value === null || value === undefined ? "null" : write(value)),
    explain: (value) => {
      const isMisread = typeof value === "string" && variant.hasText;
      return isMisread
        ? `expected text that does not look like one of the other types of ${name}, as ClickHouse would make another value of it, got ${shortened(value)}`
        : `expected a value of one of the types of ${name}, got ${shortened(value)}`;
    },
  };
}

class VariantWriter {
  readonly #alternatives: readonly Alternative[];
  readonly #kinds: ReadonlySet<Kind>;

  constructor(alternatives: readonly Alternative[]) {
    this.#alternatives = alternatives;
    this.#kinds = new Set(alternatives.map(({ type }) => type.kind));
  }

  get hasText(): boolean {
    return this.#has(texts);
  }

  write(value: unknown): string | undefined {
    if (this.#overflows(value)) return undefined;
    for (const kind of kindsOf(value, this.#kinds)) {
      for (const { type, converter } of this.#alternatives) {
        const text = type.kind === kind ? converter.convert(value) : undefined;
        if (text === undefined || (dates.includes(kind) && text !== `"${String(value)}"`)) continue;
        return this.#isMisread(value, kind, text) ? undefined : this.#spelled(value, kind, text);
      }
    }
    return undefined;
  }

  #has(kinds: readonly Kind[]): boolean {
    return kinds.some((kind) => this.#kinds.has(kind));
  }

  /** Whether a float, or a time beside another one, cannot hold the value: ClickHouse may choose that one. */
  #overflows(value: unknown): boolean {
    const number = typeof value === "string" && digitsOfFloat.test(value) ? Number(value) : value;
    const kinds = instantsOf(value);
    const times = this.#alternatives.filter(({ type }) => kinds.includes(type.kind));
    const fitting = times.filter(({ converter }) => converter.convert(value) !== undefined).length;
    if (fitting > 0 && fitting < times.length) return true;
    if (typeof number !== "number" && typeof number !== "bigint") return false;
    return this.#alternatives.some(
      ({ type, converter }) => floats.includes(type.kind) && converter.convert(number) === undefined,
    );
  }

  /** The spelling of a number of which ClickHouse makes neither a bool, nor a time, nor a Decimal with less digits. */
  #spelled(value: unknown, kind: Kind, text: string): string | undefined {
    if (!numbers.includes(kind) || typeof value === "boolean") return text;
    const digits = text.replaceAll('"', "");
    const isExact = typeof value !== "string" || digits === value || /^-?(?:nan|inf)$/.test(digits);
    if (!isExact) return undefined;
    const isLikeBool = this.#kinds.has("Bool") && /^[01]$/.test(digits);
    if (kind === "Decimal") return isLikeBool ? `${digits}.0` : digits;
    if (kind === "BFloat16" && typeof value !== "string") return Number(digits).toExponential();
    const isQuoted = typeof value === "string" || isLikeBool || (kind === "Float" && this.#kinds.has("Decimal"));
    return isQuoted ? `"${digits}"` : text;
  }

  /** Whether ClickHouse may take a text for a value of another type than the one that is found for it. */
  #isMisread(value: unknown, kind: Kind, written: string): boolean {
    const isText = texts.includes(kind);
    if (!isText && typeof value !== "string") return false;
    const text = isText ? (JSON.parse(written) as string) : (value as string);
    if (kind !== "Enum" && this.#kinds.has("Enum") && /^[+-]?\d+$/.test(text)) return true;
    if (!isText && !clocks.includes(kind)) return false;
    if (this.#has(wholes) && /^$|^[+-]?\d{20,}$/.test(text)) return true;
    if (this.#hasBytes() && /^(?:true|false)$/i.test(text)) return true;
    if (this.#kinds.has("Float") && /^[+-]?(?:nan|inf|infinity)$/i.test(text)) return true;
    if (this.#has(dates) && /^\d{4}\D?\d{1,2}\D?\d{1,2}$/.test(text)) return true;
    return this.#has(instants) && timeLike.test(text);
  }

  /** Whole numbers of 8 bits, of which ClickHouse also reads bools. */
  #hasBytes(): boolean {
    return this.#alternatives.some(({ type }) => (type.kind === "Int" || type.kind === "UInt") && type.bits === 8);
  }
}

const digitsOfFloat = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** A superset of the texts that ClickHouse's best effort reads as times: it takes day 12 of this year's January for "12". */
const timeLike =
  /^(?:[\d\s:.,+/TZ-]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|am|pm|utc|gmt|msk|msd|[ecmp][sd]t)[a-z]*)+$/i;
