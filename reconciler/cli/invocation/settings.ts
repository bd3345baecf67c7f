import { durationMs, parseDuration, quantityBytes } from "../../../schemas/index.ts";
import type { SettingName, SettingValue } from "./settings-table.ts";

/** A setting with the place that it came from. */
export interface Found {
  value: SettingValue;
  /** In the user's spelling: `--dir`, `SLUICE_DIR`, or `dir (sluice.yaml:2:1)`. */
  origin: string;
  /** How strong the origin is: 0 for the strongest, the command line. */
  rank: number;
  isDefault?: true;
}

/** The settings of one command, each from its strongest origin. */
export class Settings {
  readonly #all: ReadonlyMap<SettingName, readonly Found[]>;

  readonly #named: ReadonlyMap<SettingName, readonly Found[]>;

  /** Takes where each setting was found, the strongest origin first; `named` also has what others replace. */
  constructor(found: ReadonlyMap<SettingName, readonly Found[]>, named = found) {
    this.#all = found;
    this.#named = named;
  }

  /** Where a setting was found, the strongest origin first. */
  all(name: SettingName): readonly Found[] {
    return this.#all.get(name) ?? [];
  }

  /** The same with what does not count beside another setting, such as a key for Git beside `--dir`. */
  named(name: SettingName): readonly Found[] {
    return this.#named.get(name) ?? [];
  }

  /** The same settings, but for this one. */
  with(name: SettingName, found: readonly Found[]): Settings {
    return new Settings(new Map([...this.#all, [name, found]]), this.#named);
  }

  /** A setting that is a text and has a default. */
  text(name: SettingName): string {
    return textOf(this.all(name)[0]?.value);
  }

  optional(name: SettingName): string | undefined {
    return this.all(name).length === 0 ? undefined : this.text(name);
  }

  /** Whether it was set: by a flag, the environment or the file, and not by its default alone. */
  isGiven(name: SettingName): boolean {
    const [strongest] = this.all(name);
    return strongest !== undefined && strongest.isDefault !== true;
  }

  isOn(name: SettingName): boolean {
    return this.all(name)[0]?.value === true;
  }

  /** A setting that is a whole number and has a default. */
  number(name: SettingName): number {
    return Number(this.all(name)[0]?.value);
  }

  /** A duration, in milliseconds. */
  duration(name: SettingName): number {
    return durationMs(this.text(name));
  }

  /** A moment, in ISO 8601; undefined where none is given. */
  moment(name: SettingName): string | undefined {
    const text = this.optional(name);
    return text === undefined ? undefined : parseMoment(text, Date.now());
  }

  /** A size, in bytes. */
  size(name: SettingName): number {
    return quantityBytes(this.text(name));
  }

  listener(name: SettingName): ListenerAddress | "off" {
    return parseListener(this.text(name)) ?? "off";
  }

  /** Where a setting comes from, in the user's spelling. */
  origin(name: SettingName): string {
    return this.all(name)[0]?.origin ?? name;
  }
}

/** A mapping has no text of its own. */
export function textOf(value: SettingValue | undefined): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A time in ISO 8601, or how long before `now` it was, as a time in ISO 8601; undefined for anything else. */
export function parseMoment(text: string, now: number): string | undefined {
  const ago = parseDuration(text);
  const time = ago === undefined ? (/^\d{4}-/.test(text) ? Date.parse(text) : NaN) : now - Number(ago) / 1e6;
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** Where to listen; port 0 is a free one. */
export interface ListenerAddress {
  /** A name or an address, IPv6 without brackets. */
  host: string;
  port: number;
}

const pattern = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([^\s:[\]/@]+)):(\d{1,5})$/;

/** Reads `HOST:PORT` or `[IPv6]:PORT`; `off` is no listener. Undefined for anything else. */
export function parseListener(text: string): ListenerAddress | "off" | undefined {
  if (text === "off") return "off";
  const [, ipv6, name, digits] = pattern.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

/** The spelling that `parseListener` reads. */
export function formatListener({ host, port }: ListenerAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
