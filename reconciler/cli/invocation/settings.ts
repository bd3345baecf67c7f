import { durationMs, quantityBytes } from "../../../schemas/index.ts";
import type { SettingName, SettingValue } from "./settings-table.ts";

/** A setting with the place that it came from. */
export interface Found {
  value: SettingValue;
  /** In the user's spelling: `--dir`, `SLUICE_DIR`, or `dir (sluice.yaml:2:1)`. */
  origin: string;
}

/** The settings of one command, each from its strongest origin. */
export class Settings {
  readonly #found: ReadonlyMap<SettingName, Found>;

  constructor(found: ReadonlyMap<SettingName, Found>) {
    this.#found = found;
  }

  /** A setting that is a text and has a default. */
  text(name: SettingName): string {
    return String(this.#found.get(name)?.value);
  }

  optional(name: SettingName): string | undefined {
    return this.#found.has(name) ? this.text(name) : undefined;
  }

  isOn(name: SettingName): boolean {
    return this.#found.get(name)?.value === true;
  }

  /** A setting that is a whole number and has a default. */
  number(name: SettingName): number {
    return Number(this.#found.get(name)?.value);
  }

  /** A duration, in milliseconds. */
  duration(name: SettingName): number {
    return durationMs(this.text(name));
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
    return this.#found.get(name)?.origin ?? name;
  }
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
